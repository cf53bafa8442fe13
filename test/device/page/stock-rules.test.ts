/** How many ids a page holds, and what it does when it has too few or too many. */
import { describe, expect, test } from 'vitest'
import {
  asked,
  ended,
  failed,
  heard,
  hidden,
  isLow,
  isUsed,
  limit,
  looksAgain,
  type Mode,
  needed,
  nextCall,
  nextFetch,
  PAGE_AT_REST,
  type PageNeeds,
  parksAtRest,
  released,
  spared,
  wish,
} from '../../../src/device/page/stock-rules.js'

const AT_REST: PageNeeds = { held: 0, called: 0, perSecond: 0, warmed: 0, isVisible: true }
const seen = (what: Partial<PageNeeds>): PageNeeds => ({ ...AT_REST, ...what })
const behind = (what: Partial<PageNeeds>): PageNeeds => seen({ isVisible: false, ...what })
const failure = { code: 'server-unreachable', message: '' } as const
const unused: Mode = { is: 'unused', low: 0 }
const stocked: Mode = { is: 'stocked', low: 8 }
const dry: Mode = { is: 'dry', low: 0 }
const fetching: Mode = nextFetch(asked(false))!

describe('how many ids a page holds', () => {
  test('at rest at most 16, busy as many as in the last second', () => {
    expect(PAGE_AT_REST).toBe(16)
    expect(needed(AT_REST)).toBe(16)
    expect(needed(seen({ perSecond: 900 }))).toBe(900)
  })

  test('a busy page may hold four times as many as in the last second, a page at rest 16', () => {
    expect(limit(AT_REST)).toBe(16)
    expect(limit(seen({ perSecond: 4 }))).toBe(16)
    expect(limit(seen({ perSecond: 900 }))).toBe(3_600)
    expect(limit(seen({ perSecond: 900, warmed: 5_000 }))).toBe(5_000)
  })

  test('a warmed page holds as many ids as `warm` asked for', () => {
    expect(needed(seen({ warmed: 1_000 }))).toBe(1_000)
  })

  test('a hidden page holds nothing, unless it makes one id after another', () => {
    expect(needed(behind({}))).toBe(0)
    expect(needed(behind({ perSecond: PAGE_AT_REST }))).toBe(0)
    expect(needed(behind({ perSecond: 900 }))).toBe(900)
    expect(limit(behind({ perSecond: 1 }))).toBe(0)
    expect(limit(behind({ perSecond: 2 }))).toBe(8)
    expect(limit(behind({ perSecond: 900 }))).toBe(3_600)
  })
})

describe('a page that fetches', () => {
  test('asks for what its callers want, and for what it needs next', () => {
    expect(wish(seen({ called: 3 }), fetching)).toMatchObject({ want: 16, ahead: 0 })
    expect(wish(seen({ called: 500, held: 10 }), fetching)).toMatchObject({ want: 490, ahead: 0 })
    expect(wish(seen({ perSecond: 100 }), fetching)).toMatchObject({ want: 100, ahead: 300 })
    expect(wish(behind({ called: 1 }), fetching)).toMatchObject({ want: 1, ahead: 0 })
  })

  test('without callers asks only with less than half of what it needs', () => {
    expect(wish(seen({ held: 8 }), fetching)).toBeUndefined()
    expect(wish(seen({ held: 7 }), fetching)).toMatchObject({ want: 9, ahead: 0 })
    expect(wish(seen({ held: 8, called: 1 }), fetching)).toMatchObject({ want: 8, ahead: 0 })
  })

  test('for nobody leaves what was released so, until a caller comes', () => {
    const woken = nextFetch(asked(true))!
    expect(wish(AT_REST, woken)).toMatchObject({ isIdle: true })
    expect(wish(seen({ called: 1 }), woken)).toMatchObject({ isIdle: false })
    expect(wish(AT_REST, fetching)).toMatchObject({ isIdle: false })
  })

  test('asks its device again while that has numbers, then has the server asked', () => {
    expect(nextCall(seen({ called: 1 }), 5, undefined, 'exchange')).toBe('exchange')
    expect(nextCall(seen({ called: 1 }), 0, undefined, 'exchange')).toBe('claim')
    expect(nextCall(seen({ held: 16, called: 1 }), 5, undefined, 'exchange')).toBeUndefined()
  })

  test('without callers leaves a server alone that has just failed', () => {
    expect(nextCall(seen({ held: 7 }), 0, failure, 'exchange')).toBeUndefined()
    expect(nextCall(seen({ held: 7 }), 0, undefined, 'exchange')).toBe('claim')
    expect(nextCall(seen({ called: 1 }), 0, failure, 'exchange')).toBe('claim')
    expect(nextCall(AT_REST, 0, failure, 'exchange')).toBe('claim')
  })

  test('without callers has the server asked once, also if that brought fewer', () => {
    expect(nextCall(seen({ held: 3 }), 0, undefined, 'claim')).toBeUndefined()
    expect(nextCall(seen({ held: 3, called: 4 }), 0, undefined, 'claim')).toBe('claim')
    expect(nextCall(AT_REST, 0, undefined, 'claim')).toBe('claim')
  })

  test('fetches once more what was asked for meanwhile, also when the fetch failed', () => {
    expect(nextFetch(fetching)).toBeUndefined()
    expect(nextFetch(asked(false))).toEqual(fetching)
    expect(nextFetch(failed(asked(false)))).toEqual(fetching)
  })

  test('is then stocked or dry, and fetches in advance with half of what it needs', () => {
    const done = ended(fetching, seen({ held: 16 }))
    expect(done).toEqual({ is: 'stocked', low: 8 })
    expect(isLow(done, 8)).toBe(false)
    expect(isLow(done, 7)).toBe(true)
    expect(ended(failed(fetching), seen({ held: 4 }))).toEqual({ is: 'dry', low: 2 })
  })

  test('is not low while it fetches', () => {
    expect(isLow(fetching, 0)).toBe(false)
  })
})

describe('a page that a report reaches', () => {
  test('fetches when a caller can be served, or the server is back', () => {
    expect(heard(dry, failure, failure, true)).toBe('fetch')
    expect(heard(dry, failure, undefined, false)).toBe('fetch')
    expect(heard(dry, undefined, undefined, false)).toBeUndefined()
  })

  test('refuses its callers when a failure is not repeated any more', () => {
    expect(heard(dry, failure, failure, false)).toBe('refuse')
    expect(heard(dry, failure, { ...failure, isRepeated: true }, false)).toBeUndefined()
    expect(heard(fetching, failure, failure, false)).toBeUndefined()
  })
})

describe('a page with more than it needs', () => {
  test('parks it at rest, but not what its callers are about to get', () => {
    expect(parksAtRest(stocked, seen({ held: 17 }), false)).toBe(true)
    expect(parksAtRest(stocked, seen({ held: 16 }), false)).toBe(false)
    expect(parksAtRest(stocked, seen({ held: 16 }), true)).toBe(true)
    expect(parksAtRest(fetching, seen({ held: 17, called: 20 }), false)).toBe(false)
    expect(parksAtRest(fetching, seen({ held: 17 }), false)).toBe(true)
  })

  test('looks again until it is at rest', () => {
    expect(looksAgain(seen({ held: 17 }), 400)).toBe(true)
    expect(looksAgain(seen({ held: 16 }), 16)).toBe(false)
    expect(looksAgain(behind({}), 8)).toBe(true)
    expect(looksAgain(behind({}), 0)).toBe(false)
  })

  test('spares it for another page; when it is dry, also what its callers wait for', () => {
    expect(spared(stocked, seen({ held: 400, called: 300 }))).toBe(300)
    expect(spared(dry, seen({ held: 400, called: 300 }))).toBe(16)
    expect(spared(failed(fetching), seen({ held: 400, called: 300 }))).toBe(16)
  })
})

test('a page that is hidden fetches nothing in advance', () => {
  expect(hidden(stocked)).toEqual({ is: 'stocked', low: 0 })
  expect(hidden(fetching)).toEqual(fetching)
})

test('a page that was released or closed is not used until somebody asks', () => {
  expect(released(stocked)).toEqual(unused)
  const after = released(fetching)
  expect(isUsed(after)).toBe(false)
  expect(nextFetch(after)).toBeUndefined()
  expect(isUsed(asked(false))).toBe(true)
  expect(ended(after, AT_REST)).toEqual(unused)
})
