/**
 * A server that is a program of its own, started on a free port. Nothing of it outlives the test.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { onTestFinished, vi } from 'vitest'
import { freePort } from './free-port.js'
import type { Program } from './programs.js'

/**
 * To be called inside a test; gone when the test ends.
 * @param configure writes what it needs to listen on 127.0.0.1 at that port; its arguments
 * @returns its origin, once it listens
 */
export async function runProgram(
  { title, find }: Program,
  configure: (port: number) => string[],
  env = {},
): Promise<string> {
  const port = await freePort()
  const child = spawn(find()!, configure(port), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const isListening = () =>
    new Promise<void>((resolve, reject) => {
      if (child.exitCode !== null) reject(new Error(`${title} has ended: ${said}`))
      const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy())).on(
        'error',
        reject,
      )
    })
  await vi.waitFor(isListening, { timeout: 30_000, interval: 50 })
  return `http://127.0.0.1:${port}`
}
