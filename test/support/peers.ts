/**
 * Other people's programs and libraries that tests run beside ours. Each is in a folder of its own
 * among the packages, where scripts/prepare-tests.ts puts it; tests without theirs are left out.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/offline-hilo')
/** A registry that does not answer is as good as none. */
const DOWNLOAD_MS = 180_000

export interface Peer {
  title: string
  /** Whose client fetches it: where that one cannot, the next one cannot either. */
  registry: 'npm' | 'pip' | 'mvn'
  /** Where it is when it is installed. */
  folder: string
  /** @param folder empty, to be filled */
  fill(folder: string): void
}

/** @param name of its folder, with its version: another version is another folder */
export const newPeer = (name: string, { title, registry, fill }: Omit<Peer, 'folder'>): Peer => ({
  title,
  registry,
  fill,
  folder: join(CACHE, name),
})

export const isInstalled = ({ folder }: Peer): boolean => existsSync(folder)

/** All or nothing: a folder that is there is complete. */
export function install({ folder, fill }: Peer): void {
  mkdirSync(CACHE, { recursive: true })
  const parts = mkdtempSync(join(CACHE, 'new-'))
  try {
    fill(parts)
    renameSync(parts, folder)
  } finally {
    rmSync(parts, { recursive: true, force: true })
  }
}

/** A test's title says what it is left out for. */
export const unlessInstalled = (peer: Peer): string =>
  isInstalled(peer) ? '' : ` (left out: ${peer.title} is not installed)`

/** @throws Error with what the program said, also when it takes longer than `timeout` */
export function run(
  command: string,
  args: readonly string[],
  cwd?: string,
  timeout = DOWNLOAD_MS,
): void {
  execFileSync(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
    ...(cwd && { cwd }),
  })
}
