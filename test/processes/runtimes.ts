/**
 * The programs that run apps outside of a browser, each with a SQLite driver. Node itself is here
 * with @photostructure/sqlite; the others are fetched by scripts/prepare-tests.ts, and left out
 * where they are not.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isInstalled, newPeer, type Peer, run } from '../support/peers.js'

export interface Runtime {
  title: string
  /** The program, and the arguments that come before the script. */
  command: readonly [program: string, ...args: string[]]
  /**
   * Names the SQLite driver for `till.ts`; a path where the driver is one of the fetched packages.
   */
  driver: string
  /** Why it is left out; empty when it can be used. */
  leftOut: string
}

const { platform, arch } = process
const cpu = arch === 'arm64' ? 'aarch64' : arch

function npmPackages(name: string, title: string, ...packages: string[]): Peer {
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  return newPeer(name, {
    title,
    registry: 'npm',
    fill: (folder) => run('npm', ['install', '--prefix', folder, ...flags, ...packages], folder),
  })
}

const BUN = `@oven/bun-${platform}-${cpu}`
const DENO = `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`
const NODE = `node-${platform}-${arch}`

const bun = npmPackages('bun-1.4.5', 'Bun 1.4.5', `${BUN}@1.4.5`)
const deno = npmPackages('deno-2.9.6', 'Deno 2.9.6', `${DENO}@2.9.6`)
const node = npmPackages('node-26.10.0', 'Node 26.10.0', `${NODE}@26.10.0`, 'better-sqlite3@13.2.0')

export const RUNTIME_PEERS: readonly Peer[] = [bun, deno, node]

const within = ({ folder }: Peer, path: string) => join(folder, 'node_modules', path)
const nodeProgram = within(node, `${NODE}/bin/node`)

/** A program of an unknown machine may be there and not start. */
function reasonWithout(peer: Peer, program: string): string {
  if (!isInstalled(peer)) return ` (left out: ${peer.title} is not installed)`
  const { status } = spawnSync(program, ['--version'])
  return status === 0 ? '' : ` (left out: ${peer.title} does not start here)`
}

function fetched(peer: Peer, title: string, command: Runtime['command'], driver: string): Runtime {
  return { title, command, driver, leftOut: reasonWithout(peer, command[0]) }
}

export const RUNTIMES: readonly Runtime[] = [
  {
    title: 'Node with @photostructure/sqlite',
    command: [process.execPath],
    driver: '@photostructure/sqlite',
    leftOut: '',
  },
  fetched(node, 'Node with node:sqlite', [nodeProgram], 'node:sqlite'),
  fetched(
    node,
    'Node with better-sqlite3',
    [nodeProgram],
    within(node, 'better-sqlite3/lib/index.js'),
  ),
  fetched(bun, 'Bun with bun:sqlite', [within(bun, `${BUN}/bin/bun`)], 'bun:sqlite'),
  fetched(
    deno,
    'Deno with node:sqlite',
    [within(deno, `${DENO}/deno`), 'run', '--allow-all'],
    'node:sqlite',
  ),
]

/** A Node for tools that want a newer one than the tests run in, where it is there. */
export const newestNode = (): string =>
  reasonWithout(node, nodeProgram) === '' ? nodeProgram : process.execPath
