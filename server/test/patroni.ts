/**
 * Three real PostgreSQL servers under Patroni, with synchronous replication and an etcd that says
 * who is the primary. A server is killed together with its Patroni, as when its machine goes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from '../../test/support/free-port.js'
import { patroni, postgresFolder } from '../../test/support/programs.js'
import { newFolder } from './folders.js'
import { ownerOf } from './postgres-cluster.js'

export interface PatroniCluster {
  /** Leads to the primary, as HAProxy in front of Patroni does. */
  url: string
  /** SIGKILL to the primary and its Patroni. Resolves with which it was. */
  killPrimary(): Promise<number>
  /** Resolves when another one is the primary, with a synchronous standby. */
  hasPrimary(): Promise<void>
  /** Resolves when the server follows the primary. */
  start(node: number): Promise<void>
}

interface Member {
  name: string
  role: string
  state: string
}

const NODES = 3
/** Patroni's smallest: so many seconds after its primary is gone another one takes over. */
const TTL_SECONDS = 20
const PAUSE_MS = 250

export async function startPatroni(etcdUrl: string): Promise<PatroniCluster> {
  const folder = newFolder()
  chmodSync(folder, 0o755)
  const owner = ownerOf(folder)
  const nodes = await Promise.all(
    Array.from({ length: NODES }, async (_, i) => ({
      name: `node${i}`,
      port: await freePort(),
      rest: await freePort(),
      home: join(folder, String(i)),
    })),
  )
  const running = new Map<number, ChildProcess>()

  for (const { name, port, rest, home } of nodes) {
    mkdirSync(home)
    ownerOf(home)
    writeFileSync(
      join(home, 'patroni.json'),
      JSON.stringify({
        scope: 'hilo',
        name,
        restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
        etcd3: { hosts: new URL(etcdUrl).host },
        bootstrap: {
          dcs: {
            ttl: TTL_SECONDS,
            loop_wait: 1,
            retry_timeout: 3,
            synchronous_mode: true,
            postgresql: { use_pg_rewind: true },
          },
          initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
        },
        postgresql: {
          listen: `127.0.0.1:${port}`,
          connect_address: `127.0.0.1:${port}`,
          data_dir: join(home, 'data'),
          bin_dir: postgresFolder(),
          pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
          authentication: {
            superuser: { username: 'postgres' },
            replication: { username: 'replicator' },
          },
          parameters: { unix_socket_directories: '', max_connections: 100 },
        },
      }),
    )
  }

  function run(node: number): void {
    const { home } = nodes[node]!
    const child = spawn(patroni.find()!, [join(home, 'patroni.json')], {
      ...owner,
      cwd: home,
      env: { PATH: process.env.PATH, LC_ALL: 'C', HOME: home },
      stdio: 'ignore',
      // A group of its own: PostgreSQL dies with it.
      detached: true,
    })
    running.set(node, child)
  }

  async function kill(node: number): Promise<void> {
    const child = running.get(node)
    if (!child) return
    running.delete(node)
    const ended = once(child, 'exit')
    process.kill(-child.pid!, 'SIGKILL')
    await ended
    killPostgres(join(nodes[node]!.home, 'data'))
  }

  /** What any Patroni that answers says of all. */
  async function members(): Promise<Member[]> {
    for (const { rest } of nodes) {
      const answer = await fetch(`http://127.0.0.1:${rest}/cluster`).catch(() => undefined)
      const body = (await answer?.json().catch(() => undefined)) as
        | { members: Member[] }
        | undefined
      if (body) return body.members
    }
    return []
  }

  async function until(isSo: (members: Member[]) => boolean): Promise<void> {
    while (!isSo(await members())) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }

  const isLeader = ({ role, state }: Member) => role === 'leader' && state === 'running'
  const isFollowing = ({ role, state }: Member) =>
    role === 'sync_standby' && ['running', 'streaming'].includes(state)
  const cluster: PatroniCluster = {
    url: `postgres://postgres@127.0.0.1:${await startRelay(nodes)}/postgres`,
    async killPrimary() {
      const { name } = (await members()).find(isLeader)!
      const node = nodes.findIndex((other) => other.name === name)
      await kill(node)
      return node
    },
    hasPrimary: () => until((all) => all.some(isLeader) && all.some(isFollowing)),
    async start(node) {
      run(node)
      await until((all) =>
        all.some(
          ({ name, role, state }) =>
            name === nodes[node]!.name &&
            role !== 'leader' &&
            ['running', 'streaming'].includes(state),
        ),
      )
    },
  }
  onTestFinished(async () => void (await Promise.all(nodes.map((_, i) => kill(i)))))
  run(0)
  await until((all) => all.some(isLeader))
  run(1)
  run(2)
  await cluster.hasPrimary()
  return cluster
}

/**
 * Leads each connection to the server whose Patroni says that it is the primary.
 * @returns its port
 */
async function startRelay(nodes: readonly { port: number; rest: number }[]): Promise<number> {
  const sockets = new Set<Socket>()
  const track = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.on('error', () => other.destroy()).on('close', () => other.destroy())
  }
  const relay = createServer(async (socket) => {
    socket.on('error', () => {})
    const answers = nodes.map(async (node) => {
      const { ok } = await fetch(`http://127.0.0.1:${node.rest}/primary`)
      return ok ? node : Promise.reject(new Error('It is a standby.'))
    })
    const primary = await Promise.any(answers).catch(() => undefined)
    if (!primary) return void socket.destroy()
    const onward = connect(primary.port, '127.0.0.1')
    track(socket, onward)
    track(onward, socket)
    socket.pipe(onward).pipe(socket)
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    relay.close()
    for (const socket of sockets) socket.destroy()
  })
  return (relay.address() as AddressInfo).port
}

/** PostgreSQL's processes are in a group of their own. */
function killPostgres(data: string): void {
  try {
    const [pid] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
    rmSync(join(data, 'postmaster.pid'))
  } catch {} // It runs no more.
}
