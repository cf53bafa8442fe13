/**
 * Ports that nobody listens on just now, for programs that cannot choose one by themselves. No two
 * test files that run at once get the same one, and the system gives none of them to anybody else:
 * they lie below those that it chooses from (32768 on Linux, 49152 elsewhere).
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST = 12_000
/** Each of the processes that Vitest runs at once has its own. */
const PER_POOL = 200
const POOLS = 100

const pool = Number(process.env.VITEST_POOL_ID ?? 0) % POOLS
let next = Math.floor(Math.random() * PER_POOL)

export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PER_POOL; tried++) {
    const port = FIRST + pool * PER_POOL + (next++ % PER_POOL)
    if (await isFree(port)) return port
  }
  throw new Error(`None of the ${PER_POOL} ports of pool ${pool} is free.`)
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  const isListening = await once(probe, 'listening').then(
    () => true,
    () => false,
  )
  if (isListening) await once(probe.close(), 'close')
  return isListening
}
