/**
 * What the checker allows after a restore, and what it does not. A checker that allows too much
 * would hide a duplicate.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { Checker, type Late } from './checker.js'
import { Numbers } from './numbers.js'

const SERIES = 'orders-A'
let checker: Checker

const granted = (device: string, low: number, high = low, ledger?: string) =>
  checker.granted(SERIES, device, low, high, ledger)
const issued = (device: string, n: number) => checker.issued(SERIES, device, n)
const tolerated = () => Object.fromEntries(checker.tolerated)

beforeEach(() => {
  checker = new Checker()
})

describe('without a restore', () => {
  test('nothing is granted to two, issued twice, or issued by somebody else', () => {
    granted('a', 1, 32)
    issued('a', 1)
    granted('b', 32)
    issued('a', 1)
    issued('b', 5)
    expect(checker.violations).toEqual([
      'orders-A 32 was granted to b, but a holds it',
      'orders-A 1 was issued by a, but a had issued it',
      'orders-A 5 was issued by b, but a holds it',
    ])
  })

  test('a number given back is issued again, not by the device that gave it back', () => {
    granted('a', 1, 32)
    checker.returned(SERIES, 'a', 11, 32)
    granted('b', 11, 32)
    issued('b', 11)
    expect(checker.violations).toEqual([])
    issued('a', 12)
    expect(checker.violations).toEqual(['orders-A 12 was issued by a, but b holds it'])
  })
})

describe('a server that was restored', () => {
  beforeEach(() => {
    granted('a', 1, 32)
    const backup = checker.knownAt('A')
    granted('b', 33, 64)
    issued('b', 33)
    checker.forget('A', backup)
  })

  test('grants again what it forgot, which two devices may then issue', () => {
    granted('c', 33, 64)
    issued('c', 33)
    issued('b', 34)
    issued('c', 34)
    expect(checker.violations).toEqual([])
    expect(tolerated()).toEqual({
      'granted again by a restored server': 32,
      'issued twice after a restored server granted them again': 2,
    })
  })

  test('does not grant it a third time', () => {
    granted('c', 33, 64)
    granted('d', 40)
    expect(checker.violations).toEqual(['orders-A 40 was granted to d, but b and c holds it'])
  })

  test('may grant it a third time when the second one gave it back', () => {
    granted('c', 33, 64)
    checker.returned(SERIES, 'c', 40, 64)
    granted('d', 40, 64)
    expect(checker.violations).toEqual([])
  })

  test('grants nothing that it knew of', () => {
    granted('c', 32)
    expect(checker.violations).toEqual(['orders-A 32 was granted to c, but a holds it'])
  })

  test('grants nothing up to what a device has shown it', () => {
    checker.showed(SERIES, 64)
    granted('c', 64)
    granted('c', 65)
    expect(checker.violations).toEqual([
      'orders-A 64 was granted to c, after a higher one had been shown to an older copy',
    ])
  })

  test('grants none of these numbers when they are given back', () => {
    checker.showed(SERIES, 64)
    checker.returned(SERIES, 'a', 11, 32)
    granted('c', 11)
    expect(checker.violations).toEqual([
      'orders-A 11 was granted to c, after a higher one had been shown to an older copy',
    ])
  })

  test('grants it again to an evicted device whose page holds it: each may issue it once', () => {
    checker.outlived(SERIES, 'b', 34, 60)
    granted('b', 33, 64)
    for (const n of [34, 34]) issued('b', n)
    expect(checker.violations).toEqual([])
    for (const n of [34, 61, 61]) issued('b', n)
    expect(checker.violations).toEqual([
      'orders-A 34 was issued by b, but b had issued it',
      'orders-A 61 was issued by b, but b had issued it',
    ])
  })

  test('may grant it to others after the device gave it back; its page may issue it too', () => {
    checker.outlived(SERIES, 'b', 34, 60)
    granted('b', 33, 64)
    checker.returned(SERIES, 'b', 50, 64)
    granted('c', 50, 64)
    for (const device of ['b', 'c']) issued(device, 50)
    expect(checker.violations).toEqual([])
    issued('b', 61)
    expect(checker.violations).toEqual(['orders-A 61 was issued by b, but c holds it'])
  })

  test('may grant it again to the device that has it, which drops the answer', () => {
    granted('b', 33, 64)
    for (const n of [34, 34]) issued('b', n)
    expect(checker.violations).toEqual(['orders-A 34 was issued by b, but b had issued it'])
  })

  test('makes no device issue a number that it never held', () => {
    granted('c', 33, 64)
    issued('d', 40)
    issued('c', 41)
    issued('c', 41)
    expect(checker.violations).toHaveLength(2)
  })
})

describe('a give-back under a token that was swapped', () => {
  const late = (why: Late) => () => why

  test('is accepted by a restored server that has forgotten it', () => {
    granted('a', 40, 50)
    checker.forget('A', checker.knownAt('A'))
    checker.returned(SERIES, 'a', 45, 50, late('as a restore forgot'))
    issued('a', 45)
    expect(checker.violations).toEqual([])
  })

  test('is accepted by no server that knows it', () => {
    granted('a', 1, 32)
    checker.returned(SERIES, 'a', 21, 32, late('as the ledger knows'))
    expect(checker.violations).toHaveLength(12)
    checker.forget('A', checker.knownAt('A'))
    checker.returned(SERIES, 'a', 11, 20, late('as the ledger knows'))
    expect(checker.violations).toHaveLength(22)
  })
})

describe('after a restore', () => {
  test('nobody gives back what was issued', () => {
    granted('a', 1, 32)
    issued('a', 32)
    checker.forget('A', checker.knownAt('A'))
    checker.returned(SERIES, 'a', 32, 32)
    expect(checker.violations).toEqual(['orders-A 32 was given back by a, but a had issued it'])
  })

  test('a give-back that it undid may come again, until the number is granted', () => {
    granted('a', 1, 32)
    const backup = checker.knownAt('A')
    checker.returned(SERIES, 'a', 31, 32)
    checker.forget('A', backup)
    checker.returned(SERIES, 'a', 31, 32)
    expect(checker.violations).toEqual([])
    granted('b', 31, 32)
    checker.returned(SERIES, 'a', 31, 31)
    expect(checker.violations).toEqual(['orders-A 31 was given back by a, but b holds it'])
  })

  test('each copy may give back what was granted before there were copies', () => {
    granted('a', 1, 32)
    const backup = checker.knownAt('A')
    granted('a', 33, 40)
    checker.shared(SERIES, 1, 40, ['a', 'b'], 'made by a copy beside its original')
    checker.forget('A', backup)
    checker.returned(SERIES, 'b', 31, 32)
    expect(checker.violations).toEqual([])
    checker.returned(SERIES, 'c', 30, 30)
    checker.returned(SERIES, 'b', 40, 40)
    expect(checker.violations).toEqual([
      'orders-A 30 was given back by c, but a and b holds it',
      'orders-A 40 was given back by b, but a and b holds it',
    ])
  })
})

describe('of two copies', () => {
  beforeEach(() => {
    granted('a', 1, 32)
    checker.shared(SERIES, 1, 32, ['a', 'b'], 'made by a copy beside its original')
  })

  test('what neither gave back is granted to nobody', () => {
    granted('c', 5)
    expect(checker.violations).toEqual(['orders-A 5 was granted to c, but a and b holds it'])
  })

  test('what one gave back is granted once, and may be issued by the other, too', () => {
    checker.returned(SERIES, 'a', 5, 32)
    granted('c', 5)
    for (const device of ['b', 'c']) issued(device, 5)
    expect(checker.violations).toEqual([])
    granted('d', 5)
    expect(checker.violations).toEqual(['orders-A 5 was granted to d, but b and c had issued it'])
  })
})

test('a copy that has dropped a number issues it once, before its pages have heard of that', () => {
  granted('a', 1, 32)
  checker.dropped(SERIES, 'a', [5])
  issued('a', 5)
  expect(checker.violations).toEqual([])
  issued('a', 5)
  expect(checker.violations).toEqual(['orders-A 5 was issued by a, but a had issued it'])
})

test('what came back at another node is granted to one device', () => {
  granted('a', 1, 32)
  checker.returnedAstray(SERIES, 5, 5)
  granted('c', 5)
  for (const device of ['a', 'c']) issued(device, 5)
  expect(checker.violations).toEqual([])
  granted('d', 5)
  expect(checker.violations).toEqual(['orders-A 5 was granted to d, but a and c had issued it'])
})

describe('where two ledgers answer', () => {
  beforeEach(() => {
    checker.twoLedgers = { areThere: true, isStopped: () => false }
  })

  test('each grants a number, and neither grants it twice', () => {
    granted('a', 1, 32, 'first')
    granted('b', 1, 32, 'second')
    for (const device of ['a', 'b']) issued(device, 5)
    expect(checker.violations).toEqual([])
    granted('c', 5, 5, 'second')
    expect(checker.violations).toEqual(['orders-A 5 was granted to c, but a and b had issued it'])
  })

  test('each grants again what came back to it', () => {
    granted('a', 1, 32, 'first')
    granted('b', 1, 32, 'second')
    checker.returned(SERIES, 'a', 5, 32, () => 'as the ledger knows', 'first')
    granted('c', 5, 32, 'first')
    expect(checker.violations).toEqual([])
    granted('d', 5, 5, 'second')
    expect(checker.violations).toEqual(['orders-A 5 was granted to d, but b and c holds it'])
  })

  test('a device without storage issues no number twice that it was granted once', () => {
    checker.holdsApart('a')
    granted('a', 1, 32, 'first')
    issued('a', 5)
    expect(checker.violations).toEqual([])
    issued('a', 5)
    expect(checker.violations).toEqual(['orders-A 5 was issued by a, but a had issued it'])
  })

  test('a page whose storage has opened issues nothing of a device that has stopped', () => {
    checker.twoLedgers = { areThere: true, isStopped: () => true }
    // Another page of it is in memory, or was.
    checker.holdsApart('a')
    granted('a', 1, 32, 'first')
    checker.issued(SERIES, 'a', 5, () => true)
    expect(checker.violations).toEqual([])
    checker.issued(SERIES, 'a', 6, () => false)
    expect(checker.violations).toEqual(['orders-A 6 was issued by a, which had heard two ledgers'])
  })

  test('of a device that has stopped, another state goes on, which hears for itself', () => {
    checker.twoLedgers = { areThere: true, isStopped: (_, state) => state === 'orders/' }
    granted('a', 1, 32, 'first')
    for (const [i, state] of ['ORDERS/', 'orders:', 'orders@north/'].entries())
      checker.issued(SERIES, 'a', i + 1, () => false, state)
    expect(checker.violations).toEqual([])
    checker.issued(SERIES, 'a', 6, () => false)
    expect(checker.violations).toEqual(['orders-A 6 was issued by a, which had heard two ledgers'])
  })

  test('excuses one device for each ledger that granted the number', () => {
    const numbers = new Numbers()
    const [a, b, c] = [1, 2, 4]
    numbers.grant(5, a, 'first')
    numbers.issue(5, a)
    expect(numbers.isOnceByLedger(5, a)).toBe(false)
    expect(numbers.isOnceByLedger(5, b)).toBe(false)
    numbers.grant(5, b, 'second')
    expect(numbers.isOnceByLedger(5, b)).toBe(true)
    numbers.issue(5, b)
    expect(numbers.isOnceByLedger(5, b)).toBe(false)
    expect(numbers.isOnceByLedger(5, c)).toBe(false)
  })
})
