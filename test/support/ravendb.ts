/**
 * A real RavenDB for tests: the one at `RAVENDB_URL`, or one from packages (`ravendb-install.ts`),
 * started in memory. Without either, `ravenMissing` says so, and the tests with it are left out.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isInstalled } from './peers.js'
import { ravenDb } from './ravendb-install.js'

/** Why there is none; undefined when there is one. */
export const ravenMissing: string | undefined =
  process.env.RAVENDB_URL || isInstalled(ravenDb)
    ? undefined
    : `${ravenDb.title} is not installed: CI=true npx tsx scripts/prepare-tests.ts does ` +
      'it; or give RAVENDB_URL'

/** A test's title says what it is left out for. */
export const unlessRaven = ravenMissing ? ` (left out: ${ravenMissing})` : ''

export interface RavenServer {
  url: string
  /** A new database. @returns its name */
  newDatabase(): Promise<string>
  stop(): Promise<void>
}

let databases = 0

export async function startRavenDb(): Promise<RavenServer> {
  const given = process.env.RAVENDB_URL?.replace(/\/$/, '')
  const { url, stop } = given ? { url: given, stop: async () => {} } : await startProcess()
  return { url, stop, newDatabase: () => createDatabase(url, `Shop${process.pid}-${++databases}`) }
}

async function startProcess() {
  const data = mkdtempSync(join(tmpdir(), 'offline-hilo-ravendb-'))
  const settings = {
    ServerUrl: 'http://127.0.0.1:0',
    DataDir: data,
    RunInMemory: 'true',
    'Setup.Mode': 'None',
    'License.Eula.Accepted': 'true',
  }
  const server = join(ravenDb.folder, 'server')
  const child = spawn(
    join(server, 'Raven.Server'),
    [...Object.entries(settings).map(([name, value]) => `--${name}=${value}`), '--non-interactive'],
    {
      cwd: server,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        DOTNET_ROOT: join(ravenDb.folder, 'runtime'),
        // The server is built for .NET 8, the runtime is 9.
        DOTNET_ROLL_FORWARD: 'Major',
        DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1',
        DOTNET_gcServer: '0',
      },
    },
  )
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    process.off('exit', kill)
    if (child.exitCode === null && child.signalCode === null) {
      kill()
      await once(child, 'exit')
    }
    rmSync(data, { recursive: true, force: true })
  }
  try {
    return { url: await addressOf(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Read until the server says where it is; what it says later is dropped. */
function addressOf(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    const lines = createInterface(child.stdout!)
    lines.on('line', (line) => {
      said += `${line}\n`
      const url = /Server available on: (http:\S+)/.exec(line)?.[1]
      if (url) {
        resolve(url)
        said = ''
      }
    })
    child.stderr!.on('data', (chunk) => {
      said += chunk
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`RavenDB ended with ${code}:\n${said}`)))
  })
}

/**
 * Answered 500 although it is made: on .NET 9 this RavenDB cannot ask other nodes, of which it has
 * none. So the database is asked for itself.
 */
async function createDatabase(url: string, name: string): Promise<string> {
  await fetch(`${url}/admin/databases?name=${name}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ DatabaseName: name }),
  })
  const { status } = await fetch(`${url}/databases/${name}/stats`)
  if (status !== 200) throw new Error(`RavenDB made no database ${name}: ${status}`)
  return name
}
