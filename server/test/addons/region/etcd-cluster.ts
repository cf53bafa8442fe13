/**
 * A real etcd cluster. Each node has a network of its own where the machine allows it, which can be
 * cut off or slowed down; elsewhere all are on loopback, and a node that is cut off is stopped.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { freePort } from '../../../../test/support/free-port.js'
import { etcd, etcdctl } from '../../../../test/support/programs.js'
import { newFolder } from '../../folders.js'

export interface EtcdCluster {
  urls: string[]
  /** SIGKILL. */
  kill(node: number): Promise<void>
  start(node: number): Promise<void>
  /** From all other nodes and from the regions, until it is joined again. */
  cutOff(node: number): void
  join(node: number): void
  /** Milliseconds that each packet of the node takes longer. Without networks: nothing. */
  slowDown(node: number, ms: number): void
  /** Kills all nodes, and keeps a copy of what they stored. */
  backUp(): Promise<void>
  /** Kills all nodes, and starts them from that copy. */
  restore(): Promise<void>
  /** Saves what is stored in a file, beside the requests under way. */
  saveSnapshot(): string
  /**
   * Kills all nodes, and starts them from a snapshot, as the documents of etcd say.
   * @param token of the cluster. Default: as before, and then the cluster is called as before
   */
  restoreSnapshot(file: string, token?: string): Promise<void>
}

/** @param args of a single node on loopback, such as its certificates */
export async function startEtcd(nodes = 3, args: readonly string[] = []): Promise<EtcdCluster> {
  const networks = args.length > 0 ? undefined : newNetworks(nodes)
  const addresses = await Promise.all(
    Array.from({ length: nodes }, async (_, i) => ({
      host: networks?.hosts[i] ?? '127.0.0.1',
      client: networks ? 2379 : await freePort(),
      peer: networks ? 2380 : await freePort(),
    })),
  )
  const scheme = args.includes('--cert-file') ? 'https' : 'http'
  const urls = addresses.map(({ host, client }) => `${scheme}://${host}:${client}`)
  const peers = addresses.map(({ host, peer }) => `http://${host}:${peer}`)
  const cluster = peers.map((url, i) => `node${i}=${url}`).join()
  const folder = newFolder()
  const running = new Map<number, ChildProcess>()

  async function start(node: number): Promise<void> {
    const [command, ...before] = networks?.inside(node) ?? []
    const all = [
      ...before,
      ...(command ? [etcd.find()!] : []),
      '--name',
      `node${node}`,
      '--data-dir',
      join(folder, String(node)),
      '--listen-client-urls',
      urls[node]!,
      '--advertise-client-urls',
      urls[node]!,
      '--listen-peer-urls',
      peers[node]!,
      '--initial-advertise-peer-urls',
      peers[node]!,
      '--initial-cluster',
      cluster,
      '--heartbeat-interval',
      '50',
      '--election-timeout',
      '500',
      ...args,
    ]
    const child = spawn(command ?? etcd.find()!, all, { stdio: ['ignore', 'ignore', 'pipe'] })
    running.set(node, child)
    await new Promise<void>((resolve, reject) => {
      // It says so once it has a leader.
      createInterface(child.stderr!).on('line', (line) => {
        if (/ready to serve client requests/.test(line)) resolve()
      })
      child.once('exit', (code) => reject(new Error(`etcd ended with ${code}.`)))
    })
  }

  async function kill(node: number): Promise<void> {
    const child = running.get(node)
    if (!child) return
    running.delete(node)
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await ended
  }

  const control = (...args: string[]) =>
    execFileSync(etcdctl.find()!, args, {
      env: { ...process.env, ETCDCTL_API: '3' },
      stdio: 'pipe',
    })

  const everyNode = Array.from({ length: nodes }, (_, i) => i)
  const killAll = () => Promise.all(everyNode.map(kill))
  const startAll = () => Promise.all(everyNode.map(start))
  onTestFinished(async () => void (await killAll()))
  await startAll()
  return {
    urls,
    kill,
    start,
    cutOff: (node) => networks?.cutOff(node) ?? running.get(node)?.kill('SIGSTOP'),
    join: (node) => networks?.join(node) ?? running.get(node)?.kill('SIGCONT'),
    slowDown: (node, ms) => networks?.slowDown(node, ms),
    async backUp() {
      await killAll()
      cpSync(folder, `${folder}-copy`, { recursive: true })
      onTestFinished(() => rmSync(`${folder}-copy`, { recursive: true, force: true }))
      await startAll()
    },
    async restore() {
      await killAll()
      rmSync(folder, { recursive: true })
      cpSync(`${folder}-copy`, folder, { recursive: true })
      await startAll()
    },
    saveSnapshot() {
      const file = join(newFolder(), 'etcd.db')
      control('--endpoints', urls[0]!, 'snapshot', 'save', file)
      return file
    },
    async restoreSnapshot(file, token = 'etcd-cluster') {
      await killAll()
      rmSync(folder, { recursive: true })
      for (const i of everyNode)
        control(
          ...['snapshot', 'restore', file, '--data-dir', join(folder, String(i))],
          ...['--name', `node${i}`, '--initial-advertise-peer-urls', peers[i]!],
          ...['--initial-cluster', cluster, '--initial-cluster-token', token],
        )
      await startAll()
    },
  }
}

interface Networks {
  hosts: string[]
  /** What runs a command in the node's network. */
  inside(node: number): string[]
  cutOff(node: number): true
  join(node: number): true
  slowDown(node: number, ms: number): void
}

let lastNetwork = 0

/** @returns undefined where this machine does not allow it */
function newNetworks(nodes: number): Networks | undefined {
  const name = `hilo${process.pid % 10_000}${++lastNetwork}`
  const subnet = `10.${80 + (process.pid % 100)}.${lastNetwork}`
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' })
  if (spawnSync('ip', ['link', 'add', name, 'type', 'bridge']).status !== 0) return undefined
  onTestFinished(() => {
    for (let i = 0; i < nodes; i++) spawnSync('ip', ['netns', 'del', `${name}n${i}`])
    spawnSync('ip', ['link', 'del', name])
  })
  try {
    ip('addr', 'add', `${subnet}.254/24`, 'dev', name)
    ip('link', 'set', name, 'up')
    for (let i = 0; i < nodes; i++) {
      const [space, outside] = [`${name}n${i}`, `${name}v${i}`]
      ip('netns', 'add', space)
      ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
      ip('link', 'set', outside, 'master', name, 'up')
      ip('-n', space, 'addr', 'add', `${subnet}.${i + 1}/24`, 'dev', 'eth0')
      ip('-n', space, 'link', 'set', 'eth0', 'up')
      ip('-n', space, 'link', 'set', 'lo', 'up')
    }
  } catch {
    return undefined
  }
  return {
    hosts: Array.from({ length: nodes }, (_, i) => `${subnet}.${i + 1}`),
    inside: (node) => ['ip', 'netns', 'exec', `${name}n${node}`],
    cutOff(node) {
      ip('link', 'set', `${name}v${node}`, 'down')
      return true
    },
    join(node) {
      ip('link', 'set', `${name}v${node}`, 'up')
      return true
    },
    slowDown(node, ms) {
      const device = ['dev', `${name}v${node}`, 'root']
      spawnSync('tc', ['qdisc', 'del', ...device])
      if (ms > 0) spawnSync('tc', ['qdisc', 'add', ...device, 'netem', 'delay', `${ms}ms`])
    },
  }
}
