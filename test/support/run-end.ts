/**
 * What a run of the tests has started ends with the run, however that ends: a process of its own
 * waits for the end of the run, then kills what still runs and removes the run's folder.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isFull } from './sizes.js'

const WATCHER = join(import.meta.dirname, 'run-watcher.js')
const PREFIX = 'hilo-run-'
/** Linux keeps its files in memory. */
const MEMORY = '/dev/shm'
/** Twice what runs were seen to take. */
const ROOM_BYTES = 4 * 2 ** 30

/**
 * From now on temporary folders are made in a folder of this run. Whatever the run starts has that
 * folder in its environment or in its arguments: that is how the watcher knows it.
 */
export function endAllWithThisProcess(): void {
  const folder = realpathSync(mkdtempSync(join(parentFolder(), PREFIX)))
  // As /tmp is: some programs run as another user.
  chmodSync(folder, 0o1777)
  // A session of its own: Ctrl-C does not reach it.
  const watcher = spawn(process.execPath, [WATCHER, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  // The pipe is never written to. It closes when this process is gone, by whatever cause.
  ;(watcher.stdin as unknown as { unref(): void }).unref()
  process.env.TMPDIR = folder
}

/**
 * A run that another run starts has its folder beside that one's, not in it: the path of a socket
 * has 108 bytes at most, and Chromium makes one in its profile.
 */
function parentFolder(): string {
  const folder = tmpdir()
  if (basename(folder).startsWith(PREFIX)) return dirname(folder)
  // Ledgers wait for the disk at every commit. At full size they do, as those of users.
  return !isFull && process.env.TMPDIR === undefined && isUsable(MEMORY) ? MEMORY : folder
}

/** Is there room, and may programs be started there? */
function isUsable(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    if (bavail * bsize < ROOM_BYTES) return false
    const own = mkdtempSync(join(folder, PREFIX))
    const program = join(own, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    const { status } = spawnSync(program)
    rmSync(own, { recursive: true })
    return status === 0
  } catch {
    return false // There is no such folder, or it is not ours to write to.
  }
}
