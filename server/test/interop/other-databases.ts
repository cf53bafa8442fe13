/** A Redis and a MariaDB of a test's own, which it may kill. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { eventually } from '../../../test/support/eventually.js'
import { freePort } from '../../../test/support/free-port.js'
import { mariadb, redis } from '../../../test/support/programs.js'
import { newFolder } from '../folders.js'
import { ownerOf } from '../postgres-cluster.js'

export interface OtherDatabase {
  port: number
  /** SIGKILL, and a start on the same data. */
  crash(): Promise<void>
}

async function start(
  program: string,
  args: (port: number) => string[],
  owner: object,
): Promise<OtherDatabase> {
  const port = await freePort()
  let child: ChildProcess
  const kill = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const run = async () => {
    child = spawn(program, args(port), { ...owner, stdio: 'ignore' })
    await eventually(
      () =>
        new Promise<void>((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy())).on(
            'error',
            reject,
          )
        }),
    )
  }
  await run()
  onTestFinished(kill)
  return {
    port,
    async crash() {
      await kill()
      await run()
    },
  }
}

/** Each write is on the disk before it is answered. */
export function startRedis(): Promise<OtherDatabase> {
  const folder = newFolder()
  return start(
    redis.find()!,
    (port) => [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'],
    ],
    {},
  )
}

/** With a database `shop`, and the user `root` without a password. */
export async function startMariaDb(): Promise<OtherDatabase> {
  const folder = newFolder()
  const owner = ownerOf(folder)
  const data = join(folder, 'data')
  execFileSync(
    'mariadb-install-db',
    [
      ...['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal'],
      '--skip-test-db',
    ],
    { ...owner, stdio: 'pipe' },
  )
  return start(
    mariadb.find()!,
    (port) => [
      ...['--no-defaults', `--datadir=${data}`, `--port=${port}`, '--bind-address=127.0.0.1'],
      ...[`--socket=${join(folder, 'socket')}`, '--skip-name-resolve'],
    ],
    owner,
  )
}
