/**
 * What a watcher makes of a back end that takes blocks: the right strategy and size are proved, and
 * no other one is, whatever ids it makes and whenever somebody looks.
 */
import { describe, expect, test } from 'vitest'
import {
  additive,
  type Blocks,
  idsOf,
  multiplicative,
} from '../../../src/addons/bound/orm/blocks.js'
import { isContradicted, isProved, type Seen, watch } from '../../../src/addons/bound/orm/proof.js'

/**
 * A back end of one process that stores `count` records, one at a time.
 * @param isSlow somebody can look between the take and the row
 */
function* storing(blocks: Blocks, start: bigint, count: number, isSlow: boolean) {
  let next = start
  const ids: bigint[] = []
  let rest: bigint[] = []
  yield { next, ids: [...ids] }
  for (let i = 0; i < count; i++) {
    while (rest.length === 0) {
      const block = idsOf(blocks, next)
      next += blocks.step
      if (isSlow) yield { next, ids: [...ids] }
      if (block)
        rest = Array.from(
          { length: Number(block.high - block.low) + 1 },
          (_, at) => block.low + BigInt(at),
        )
    }
    ids.push(rest.shift()!)
    yield { next, ids: [...ids] }
  }
}

/** @param isLookedAt by the number of what there is to see. Undefined: all, also slow takes */
function seenOf(
  configured: Blocks,
  real: Blocks,
  isLookedAt?: (at: number) => boolean,
): Seen | undefined {
  // The back end has made ids before.
  const [first, ...looks] = storing(
    real,
    7n * real.step + 1n,
    3 * Number(real.size) + 3,
    !isLookedAt,
  )
  const look = watch(configured, first!)
  let seen: Seen | undefined
  for (const [at, each] of looks.entries()) {
    if (isLookedAt && !isLookedAt(at)) continue
    seen = look(each)
    if (isProved(seen) || isContradicted(seen)) return seen
  }
  return seen
}

const lo = (size: bigint) => additive(size, 0n)
const pooled = (size: bigint) => additive(size, 1n - size, 1n)
const oldPooled = (size: bigint) => additive(size, -size, 1n)
const hilo = (size: bigint) => multiplicative(size, 1n - size, 1n)
const legacy = (size: bigint) => multiplicative(size, 0n, 1n)
const marten = (size: bigint) => multiplicative(size, 1n)

const ALL: [name: string, make: (size: bigint) => Blocks][] = [
  ['pooled-lo', lo],
  ['pooled', pooled],
  ['pooled before 4.3.11', oldPooled],
  ['hilo', hilo],
  ['legacy hilo', legacy],
  ['marten', marten],
]
const SIZES = [1n, 2n, 3n, 10n]
const CASES = ALL.flatMap(([name, make]) => SIZES.map((size) => ({ name, size, make })))

test.each(CASES)('$name with $size is proved by two blocks', ({ size, make }) => {
  const seen = seenOf(make(size), make(size))!
  expect(isProved(seen)).toBe(true)
  expect(seen.right.length).toBe(2)
  expect(seen.wrong).toEqual([])
})

describe.each(CASES)('a back end with $name of $size', ({ size, make }) => {
  const real = make(size)
  const others = ALL.flatMap(([name, other]) =>
    [...SIZES, size + 1n].map((otherSize) => ({ name, size: otherSize, blocks: other(otherSize) })),
  ).filter(
    ({ blocks }) => blocks.step === real.step && idsOf(blocks, 8n)?.low !== idsOf(real, 8n)?.low,
  )

  test('proves no other one', () => {
    for (const { name, size: otherSize, blocks } of others)
      expect(isProved(seenOf(blocks, real)!), `${name} with ${otherSize}`).toBe(false)
  })

  test('also where looks miss some of it', () => {
    for (const { name, size: otherSize, blocks } of others)
      for (let every = 2; every < 8; every++)
        for (let offset = 0; offset < every; offset++) {
          const seen = seenOf(blocks, real, (at) => at % every === offset)
          expect(seen && isProved(seen), `${name} with ${otherSize}, ${every}/${offset}`).not.toBe(
            true,
          )
        }
  })
})

test('two records between looks prove nothing', () => {
  const look = watch(lo(10n), { next: 11n, ids: [] })
  expect(look({ next: 21n, ids: [10n, 11n] })).toMatchObject({ right: [], wrong: [] })
  expect(look({ next: 21n, ids: [10n, 11n, 12n] })).toMatchObject({ right: [], wrong: [] })
})

test('several values at once, and rows that nobody stored, prove nothing', () => {
  const look = watch(lo(10n), { next: 11n, ids: [] })
  expect(look({ next: 31n, ids: [11n, 21n] })).toMatchObject({ right: [], wrong: [] })
  expect(look({ next: 41n, ids: [11n, 21n] })).toMatchObject({ fresh: [], right: [] })
  expect(look({ next: 51n, ids: [11n, 21n, 41n] })).toMatchObject({
    right: [{ value: 41n, id: 41n }],
  })
})

test('an id that the counter has still to give contradicts', () => {
  const look = watch(legacy(10n), { next: 3n, ids: [] })
  const seen = look({ next: 3n, ids: [33n] })
  expect(seen.early).toBe(33n)
  expect(isContradicted(seen)).toBe(true)
})
