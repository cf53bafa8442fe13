/**
 * Many devices at once: each claims, sometimes repeats a claim, sometimes gives the end of its
 * range back, and tries again by claim id when no answer comes. A range is shortened before its
 * give-back is sent, as a device does; so what they hold in the end must be disjoint.
 */
import { randomUUID } from 'node:crypto'
import type { NextAnswer } from '../../src/core/wire.js'
import { json } from './handlers.js'

export const TAGS = ['orders', 'lines'] as const

export interface Held {
  low: number
  high: number
}

export interface Devices {
  /** What the devices hold of a collection now. */
  heldOf(tag: (typeof TAGS)[number]): Held[]
  /** Answers that differ for one claim, statuses that are no documented refusal. */
  faults: string[]
  /** Resolves when so many more answers have come. */
  answered(count: number): Promise<void>
  /** Lets what is under way end. */
  stop(): Promise<void>
}

export interface World {
  /** Resolves with the address to ask, when there is one. */
  url(device: number): Promise<string>
  random(): number
}

export function startDevices(count: number, world: World, { givesBack = true } = {}): Devices {
  const held = new Map<string, Held[]>(TAGS.map((tag) => [tag, []]))
  const faults: string[] = []
  const waiting = new Set<{ left: number; resolve: () => void }>()
  let isStopped = false

  /** Undefined when stopped before an answer came. */
  async function ask(
    device: number,
    path: string,
    init?: RequestInit,
  ): Promise<Response | undefined> {
    while (!isStopped) {
      const url = await world.url(device)
      const response = await fetch(url + path, init).catch(() => undefined)
      if (response && response.status < 300) return response
      if (response && response.status !== 503)
        faults.push(`${path}: ${response.status} ${await response.text()}`)
      await response?.arrayBuffer().catch(() => undefined)
    }
  }

  async function claim(device: number, tag: string): Promise<void> {
    const path = `/databases/Shop/hilo/next?tag=${tag}&claim=${randomUUID()}`
    const text = await (await ask(device, path))?.text().catch(() => '')
    const again =
      !text || world.random() < 0.2
        ? await (await ask(device, path))?.text().catch(() => '')
        : undefined
    if (text && again && again !== text) faults.push(`${path}: ${text}, then ${again}`)
    const body = text || again
    if (!body) return
    const { Low, High, Token } = JSON.parse(body) as NextAnswer
    const range = { low: Low, high: High }
    held.get(tag)!.push(range)
    if (givesBack && world.random() < 0.3) {
      range.high = Low - 1 + Math.floor(world.random() * (High - Low + 1))
      await ask(
        device,
        '/databases/Shop/hilo/return',
        json({ tag, end: High, last: range.high, token: Token }),
      )
    }
    for (const wait of waiting) if (--wait.left === 0) wait.resolve()
  }

  const loops = Array.from({ length: count }, async (_, device) => {
    while (!isStopped) await claim(device, TAGS[device % TAGS.length]!)
  })

  return {
    heldOf: (tag) => held.get(tag)!,
    faults,
    answered: (left) => new Promise((resolve) => waiting.add({ left, resolve })),
    async stop() {
      isStopped = true
      await Promise.all(loops)
    },
  }
}

/** Pairs of ranges that share a number. */
export function overlaps(ranges: readonly Held[]): [Held, Held][] {
  const sorted = ranges.filter(({ low, high }) => low <= high).sort((a, b) => a.low - b.low)
  return sorted
    .slice(1)
    .flatMap((range, i): [Held, Held][] =>
      range.low <= sorted[i]!.high ? [[sorted[i]!, range]] : [],
    )
}

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
