/** The arithmetic of every ORM’s blocks: they never meet, and leave nothing out. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { idsOf, lastValue, valueAbove } from '../../../src/addons/bound/orm/blocks.js'
import type { Counter } from '../../../src/addons/bound/orm/counter-binding.js'
import { firstValue } from '../../../src/addons/bound/orm/counter-statements.js'
import { OPTIMIZERS, STRATEGIES, type Strategy } from '../../../src/addons/bound/orm/strategies.js'

const anyBlocks = fc
  .tuple(
    fc.constantFrom<Pick<Strategy, 'blocks'>>(
      ...Object.values(STRATEGIES),
      ...Object.values(OPTIMIZERS),
    ),
    fc.bigInt(1n, 100_000n),
    fc.bigInt(1n, 5_000n),
  )
  .map(([{ blocks }, size, first]) => blocks(size, first))

test('the blocks of one counter never meet, and leave nothing out between them', () => {
  fc.assert(
    fc.property(anyBlocks, fc.bigInt(1n, 2n ** 60n), (blocks, value) => {
      const [one, next] = [idsOf(blocks, value), idsOf(blocks, value + blocks.step)]
      if (one && next) expect(next.low).toBe(one.high + 1n)
    }),
  )
})

test('the value above a floor is the lowest whose ids are all above it', () => {
  fc.assert(
    fc.property(anyBlocks, fc.bigInt(0n, 2n ** 60n), (blocks, floor) => {
      const value = valueAbove(blocks, floor)
      const begin = (at: bigint) => at * blocks.factor + blocks.shift
      expect(begin(value)).toBeGreaterThan(floor)
      expect(begin(value - 1n)).toBeLessThanOrEqual(floor)
    }),
  )
})

test('a row that is made above a floor begins above it, also above one id', () => {
  const blocks = STRATEGIES.sequence.blocks(1n, 1n)
  const counter = { location: { start: 1n, ahead: 0n }, blocks } as unknown as Counter
  expect([0n, 1n, 2n].map((floor) => firstValue(counter, floor))).toEqual([1n, 2n, 3n])
})

test('the last value is the highest whose ids the column can hold', () => {
  fc.assert(
    fc.property(anyBlocks, fc.bigInt(2n ** 20n, 2n ** 60n), (blocks, maxId) => {
      const value = lastValue(blocks, maxId)
      const high = (at: bigint) => at * blocks.factor + blocks.shift + blocks.size - 1n
      expect(high(value)).toBeLessThanOrEqual(maxId)
      expect(high(value + 1n)).toBeGreaterThan(maxId)
    }),
  )
})

test('a counter beyond 2^53 keeps counting exactly', () => {
  const blocks = STRATEGIES.efcore.blocks(10n, 1n)
  expect(idsOf(blocks, 2n ** 53n + 1n)).toEqual({ low: 2n ** 53n + 1n, high: 2n ** 53n + 10n })
})
