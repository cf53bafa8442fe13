/** A back end's process: it stores entities with its own library, and prints their ids. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Command {
  program: string
  args: string[]
  environment?: NodeJS.ProcessEnv
}

/**
 * Reads lines from its input. For a number it stores so many entities, and prints their ids, one a
 * line. For `= 4711 4712` it stores entities with these ids. Then it prints a dot; the first dot
 * says that it is ready.
 */
export interface Taker {
  /** What it printed so far. */
  ids: string[]
  /** Resolves when it has stored so many more. */
  take(count: number): Promise<void>
  /** Resolves when it has done what a line says. */
  send(line: string): Promise<void>
  /** Resolves when it has printed so many in all. */
  has(count: number): Promise<void>
  /** Resolves when it has ended by itself. */
  end(): Promise<void>
  /** SIGKILL, as a crash. */
  kill(): Promise<void>
}

export async function startTaker({ program, args, environment }: Command): Promise<Taker> {
  const child = spawn(program, args, { env: { ...process.env, ...environment } })
  const ids: string[] = []
  let dots = 0
  let errors = ''
  let failure: Error | undefined
  const waiting = new Set<() => void>()
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (isSo()) resolve()
        else if (failure) reject(failure)
        else return
        waiting.delete(look)
      }
      waiting.add(look)
      look()
    })
  const lookAgain = () => {
    for (const look of waiting) look()
  }
  createInterface(child.stdout).on('line', (line) => {
    if (line === '.') dots++
    else ids.push(line)
    lookAgain()
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const closed = once(child, 'close').then(([code, signal]) => {
    failure = new Error(
      `${program} ended with ${code ?? signal} after ${ids.length} ids:\n${errors.slice(-3_000)}`,
    )
    lookAgain()
    if (code !== 0 && signal !== 'SIGKILL') throw failure
  })
  closed.catch(() => {})
  await until(() => dots > 0)
  const send = (line: string) => {
    const before = dots
    child.stdin.write(`${line}\n`)
    return until(() => dots > before)
  }
  return {
    ids,
    take: (count) => send(`${count}`),
    send,
    has: (count) => until(() => ids.length >= count),
    end: () => {
      child.stdin.end()
      return closed
    },
    kill: () => {
      child.kill('SIGKILL')
      return closed
    },
  }
}
