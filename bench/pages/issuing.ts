/** Nanoseconds per id, beside what an app would use otherwise. */
import { wrap } from 'comlink'
import { nanoid } from 'nanoid'
import { ulid } from 'ulid'
import { v7 } from 'uuid'
import type { Hilo } from '../../src/index.js'
import { openCounter } from './counter.js'
import type { Ids } from './one-id-worker.js'

export interface Figure {
  name: string
  /** Median of several rounds. */
  nanoseconds: number
  /** 9,999 of 10,000 calls take no longer. Of the two that are compared call by call. */
  within?: number
}

const ROUNDS = 5
/**
 * Leases may arrive between two slices. A slice takes milliseconds, so a coarse clock will do.
 */
const SLICES = 10
/** Keeps every id for a while, so that the engine cannot leave its making out. */
const kept: unknown[] = new Array(1024)

export const FLOOR = 'a bare counter in a template'
export const AWAIT_FLOOR = 'await a resolved promise'

/** @param count how many a cheap one makes in a round; the dear ones make fewer */
export async function measureIssuing(hilo: Hilo, count: number): Promise<Figure[]> {
  let counter = 0
  const worker = new Worker(new URL('./one-id-worker.ts', import.meta.url), { type: 'module' })
  const remote = wrap<Ids>(worker)
  const stored = await openCounter('bench-counter')
  const few = Math.ceil(count / 1000)

  /** Loops are written out: a function called for each id would cost as much as the id. */
  const contenders: [name: string, count: number, run: (count: number) => void | Promise<void>][] =
    [
      [
        FLOOR,
        count,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = `orders/${counter++}-A`
        },
      ],
      [
        'nextIdSync',
        count,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = hilo.nextIdSync('orders')
        },
      ],
      [
        'nextNumberSync',
        count,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = hilo.nextNumberSync('orders')
        },
      ],
      [
        AWAIT_FLOOR,
        count,
        async (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = await Promise.resolve(i)
        },
      ],
      [
        'await nextId',
        count,
        async (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = await hilo.nextId('orders')
        },
      ],
      [
        'crypto.randomUUID',
        count / 10,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = crypto.randomUUID()
        },
      ],
      [
        'nanoid',
        count / 10,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = nanoid()
        },
      ],
      [
        'uuid v7',
        count / 10,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = v7()
        },
      ],
      [
        'ulid',
        count / 50,
        (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = ulid()
        },
      ],
      [
        'one Comlink call per id',
        few,
        async (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = await remote.nextId()
        },
      ],
      [
        'one strict IndexedDB transaction per id',
        few / 5,
        async (n) => {
          for (let i = 0; i < n; i++) kept[i & 1023] = await stored.next()
        },
      ],
    ]

  const figures = new Map<string, number[]>(contenders.map(([name]) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, all, run] of contenders) {
      const slice = Math.ceil(all / SLICES)
      let milliseconds = 0
      for (let i = 0; i < SLICES; i++) {
        await hilo.warm('orders', slice, { timeout: 60_000 })
        const start = performance.now()
        await run(slice)
        milliseconds += performance.now() - start
      }
      figures.get(name)!.push((milliseconds * 1e6) / (slice * SLICES))
    }
  }
  worker.terminate()
  stored.close()
  const within = await measureSlowest(hilo, count)
  return [...figures].map(([name, all]) => ({
    name,
    nanoseconds: all.sort((a, b) => a - b)[ROUNDS >> 1]!,
    ...(name in within && { within: within[name]! }),
  }))
}

/** The clock is read around each call, so its step is the shortest time that can be told. */
async function measureSlowest(hilo: Hilo, count: number): Promise<Record<string, number>> {
  const counted = new Float64Array(count)
  const issued = new Float64Array(count)
  let counter = 0
  const slice = Math.ceil(count / SLICES)
  for (let from = 0; from < count; from += slice) {
    await hilo.warm('orders', slice, { timeout: 60_000 })
    const to = Math.min(from + slice, count)
    for (let i = from; i < to; i++) {
      const start = performance.now()
      kept[i & 1023] = `orders/${counter++}-A`
      counted[i] = performance.now() - start
    }
    for (let i = from; i < to; i++) {
      const start = performance.now()
      kept[i & 1023] = hilo.nextIdSync('orders')
      issued[i] = performance.now() - start
    }
  }
  const nanoseconds = (all: Float64Array) => all.sort()[Math.floor(0.9999 * count)]! * 1e6
  return { [FLOOR]: nanoseconds(counted), nextIdSync: nanoseconds(issued) }
}
