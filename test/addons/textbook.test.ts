/** The bare algorithm: the textbook’s numbers, and no id twice, however many callers wait. */
import { describe, expect, test, vi } from 'vitest'
import { hiLoGenerator } from '../../src/addons/textbook.js'

const take = async (nextId: () => Promise<number>, count: number) => {
  const ids: number[] = []
  for (let i = 0; i < count; i++) ids.push(await nextId())
  return ids
}

/** A counter that hands out 0, 1, 2, …, each a little later. */
const counter = (first = 0) => {
  let hi = first
  return vi.fn(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return hi++
  })
}

test('hi 2 with max_lo 1000 makes 2000, 2001, 2002', async () => {
  expect(await take(hiLoGenerator({ nextHi: () => 2, maxLo: 1000 }), 3)).toEqual([2000, 2001, 2002])
})

test('hi 0 makes 0 first; a used-up hi is followed by the next', async () => {
  const nextHi = counter()
  expect(await take(hiLoGenerator({ nextHi, maxLo: 3 }), 7)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(nextHi).toHaveBeenCalledTimes(3)
})

test('two generators on one counter never meet', async () => {
  const nextHi = counter(5)
  const [a, b] = [hiLoGenerator({ nextHi, maxLo: 10 }), hiLoGenerator({ nextHi, maxLo: 10 })]
  const ids = await Promise.all(Array.from({ length: 100 }, (_, i) => (i % 2 ? a() : b())))
  expect(new Set(ids).size).toBe(100)
})

test('1000 callers at once take no more hi than they need, and each gets its own id', async () => {
  const nextHi = counter(1)
  const nextId = hiLoGenerator({ nextHi, maxLo: 100 })
  const ids = await Promise.all(Array.from({ length: 1000 }, () => nextId()))
  expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => 100 + i))
  expect(nextHi).toHaveBeenCalledTimes(10)
})

test('when nextHi throws, all callers get the error, and the next call tries again', async () => {
  const nextHi = vi.fn(async () => 7)
  nextHi.mockRejectedValueOnce(new Error('no network'))
  const nextId = hiLoGenerator({ nextHi, maxLo: 10 })
  const outcomes = await Promise.allSettled([nextId(), nextId()])
  expect(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message),
  ).toEqual(['no network', 'no network'])
  expect(nextHi).toHaveBeenCalledTimes(1)
  expect(await take(nextId, 2)).toEqual([70, 71])
})

describe('no id is made of', () => {
  test.each([
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    ['3', 'the string 3'],
    [3n, 'the bigint 3'],
    [undefined, 'undefined'],
    [2 ** 53, '9007199254740992'],
  ])('the hi %s, shown as %s', async (hi, shown) => {
    const nextHi = vi.fn(async () => hi as unknown as number)
    const nextId = hiLoGenerator({ nextHi, maxLo: 10 })
    await expect(nextId()).rejects.toThrow(
      new RangeError(`nextHi gave ${shown}, which is no whole number ≥ 0. No id was made of it.`),
    )
    nextHi.mockResolvedValue(4)
    expect(await nextId()).toBe(40)
  })

  test.each([[4], [3]])('a hi that comes after 4 and is %i', async (hi) => {
    const nextHi = vi.fn(async () => hi).mockResolvedValueOnce(4)
    const nextId = hiLoGenerator({ nextHi, maxLo: 2 })
    expect(await take(nextId, 2)).toEqual([8, 9])
    await expect(nextId()).rejects.toThrow('went backwards')
  })

  test('a hi whose ids pass 2^53−1', async () => {
    await expect(hiLoGenerator({ nextHi: () => 2 ** 50, maxLo: 1000 })()).rejects.toThrow('2^53−1')
  })
})

test.each([undefined, { nextHigh: () => 0, maxLo: 2 }])(
  'without nextHi, %o is refused',
  (options) => {
    expect(() => hiLoGenerator(options as never)).toThrow('nextHi has to be a function')
  },
)

test.each([0, -1, 1.5, Number.NaN, '10', 10n, Symbol('10'), undefined])(
  'a maxLo of %s is refused',
  (maxLo) => {
    expect(() => hiLoGenerator({ nextHi: () => 0, maxLo: maxLo as number })).toThrow(RangeError)
  },
)

test('a text in the place of maxLo is shown as one', () => {
  const maxLo = '10' as never
  expect(() => hiLoGenerator({ nextHi: () => 0, maxLo })).toThrow('≥ 1; this is the string 10.')
})
