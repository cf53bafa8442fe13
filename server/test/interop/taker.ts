/** A back end's process: it stores entities with its own library, and prints their ids. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Command {
  program: string
  args: string[]
  environment?: NodeJS.ProcessEnv
}

interface Taker {
  /** Every id that it printed so far. */
  ids: string[]
  /** Resolves when there are so many ids; rejects when it ends before. */
  has(count: number): Promise<void>
  /** Resolves when it ended well, or by `kill`. */
  ended: Promise<void>
  /** SIGKILL, as a crash. */
  kill(): Promise<void>
}

function startTaker({ program, args, environment }: Command): Taker {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  })
  const ids: string[] = []
  const waiting: { count: number; resolve: () => void; reject: (error: Error) => void }[] = []
  let errors = ''
  createInterface(child.stdout).on('line', (line) => {
    ids.push(line)
    for (const { count, resolve } of waiting) if (ids.length >= count) resolve()
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    const failure = new Error(
      `${program} ended with ${code ?? signal} after ${ids.length} ids:\n${errors.slice(-3_000)}`,
    )
    for (const { reject } of waiting) reject(failure)
    if (code !== 0 && signal !== 'SIGKILL') throw failure
  })
  ended.catch(() => {})
  return {
    ids,
    has: (count) =>
      new Promise((resolve, reject) => {
        if (ids.length >= count) resolve()
        else waiting.push({ count, resolve, reject })
      }),
    ended,
    kill: () => {
      child.kill('SIGKILL')
      return ended
    },
  }
}

/** To its end. @returns its ids */
export async function take(command: Command): Promise<string[]> {
  const taker = startTaker(command)
  await taker.ended
  return taker.ids
}
