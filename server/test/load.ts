/** Claims by several clients at once, which notice every request that is lost. */
import { expect } from 'vitest'
import type { NextAnswer } from '../../src/core/wire.js'

interface Load {
  /** Resolves when so many more claims were granted. */
  granted(count: number): Promise<void>
  /** Resolves with what went wrong. */
  stop(): Promise<string[]>
}

type Answer = Pick<Response, 'status' | 'text'>

/** @param next sends a claim */
export function startLoad(clients: number, next: () => Promise<Answer>): Load {
  const faults: string[] = []
  const lows = new Set<number>()
  let isStopped = false

  async function claim(): Promise<void> {
    try {
      const answer = await next()
      const text = await answer.text()
      if (answer.status !== 201) return void faults.push(`${answer.status} ${text}`)
      const { Low } = JSON.parse(text) as NextAnswer
      if (lows.has(Low)) faults.push(`${Low} twice`)
      lows.add(Low)
    } catch (error) {
      faults.push(String((error as Error).cause ?? error))
    }
  }

  const loops = Array.from({ length: clients }, async () => {
    while (!isStopped) await claim()
  })
  return {
    async granted(count) {
      const enough = lows.size + count
      await expect.poll(() => lows.size).toBeGreaterThanOrEqual(enough)
    },
    async stop() {
      isStopped = true
      await Promise.all(loops)
      return faults
    },
  }
}
