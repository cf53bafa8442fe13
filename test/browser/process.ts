/**
 * Starts a browser, or a program that drives one, in a process group of its own, so that killing it
 * leaves nothing running.
 */
import { spawn } from 'node:child_process'

export interface Running {
  /** What the program printed when it was ready. */
  ready: RegExpMatchArray | undefined
  /** Resolves when it has ended, by itself or not. */
  closed: Promise<void>
  /** Sends SIGKILL to the whole group. Resolves when all of it is gone. */
  kill(): Promise<void>
}

/** A program that has not started within this time will not start. */
const START_MS = 60_000

/**
 * @param ready what the program prints, on either output, when it can be used; undefined when it
 * says nothing
 */
export async function start(
  command: string,
  args: string[],
  ready: RegExp | undefined,
  env: NodeJS.ProcessEnv = {},
  cwd?: string,
): Promise<Running> {
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  })
  // Children inherit the pipes: `close` comes when the last of them is dead.
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const killGroup = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {} // There is no group any more.
  }
  process.once('exit', killGroup)
  let said = ''
  let late: NodeJS.Timeout | undefined
  const match = await new Promise<RegExpMatchArray | undefined>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk
      const found = ready && said.match(ready)
      if (found) resolve(found)
    }
    if (!ready) child.once('spawn', () => resolve(undefined))
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('error', reject)
    closed.then(() => reject(new Error(`${command} ended before it was ready:\n${said}`)))
    late = setTimeout(killGroup, START_MS)
  }).finally(() => clearTimeout(late))
  return {
    ready: match,
    closed,
    async kill() {
      killGroup()
      await closed
      process.off('exit', killGroup)
    },
  }
}

/**
 * Resolves with the result of `work`. If it fails, or takes too long, kills the process that was
 * started for it.
 */
export async function orKill<T>(kill: () => Promise<void>, work: Promise<T>): Promise<T> {
  let late: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    late = setTimeout(
      () => reject(new Error(`What was started does not answer within ${START_MS} ms.`)),
      START_MS,
    )
  })
  try {
    return await Promise.race([work, deadline])
  } catch (error) {
    await kill()
    throw error
  } finally {
    clearTimeout(late)
  }
}
