/** The explorer itself, on models that are small enough to count by hand. */
import { describe, expect, test } from 'vitest'
import { Fingerprint, partOf } from './canonical.js'
import { explore, type Model } from './explorer.js'

const ALL = { states: 100_000 }

/** Counts up to `most`, forwards or backwards, and begins again. */
const counter = (most: number, more: Partial<Model<number>> = {}): Model<number> => ({
  initial: () => 0,
  next: (state) => [
    { event: 'up', state: (state + 1) % most },
    { event: 'down', state: (state + most - 1) % most },
  ],
  fingerprint(state) {
    const print = new Fingerprint()
    print.add(state)
    return print
  },
  broken: () => undefined,
  stuck: () => undefined,
  ...more,
})

describe('an exploration', () => {
  test('counts each state once, whatever its fingerprint is', () => {
    const found = explore(counter(5_000), ALL)
    expect(found).toMatchObject({ states: 5_000, transitions: 10_000, isComplete: true })
  })

  test('tells the shortest way to a state that is wrong', () => {
    const broken = (state: number) => (state === 17 ? 'It is 17.' : undefined)
    expect(explore(counter(20, { broken }), ALL).violation).toEqual({
      problem: 'It is 17.',
      trace: ['down', 'down', 'down'],
    })
  })

  test('tells what had happened before its first state, too', () => {
    const broken = (state: number) => (state === 17 ? 'It is 17.' : undefined)
    const model = counter(20, { broken, before: ['begin at 18'], initial: () => 18 })
    expect(explore(model, ALL).violation?.trace).toEqual(['begin at 18', 'down'])
  })

  test('asks whether a state without events is stuck', () => {
    const next = (state: number) => (state < 3 ? [{ event: 'up', state: state + 1 }] : [])
    const stuck = (state: number) => `Stuck at ${state}.`
    expect(explore(counter(20, { next, stuck }), ALL).violation).toEqual({
      problem: 'Stuck at 3.',
      trace: ['up', 'up', 'up'],
    })
  })
})

test('what differs in made-up names only is one, and what repeats a name is another', () => {
  const printOf = (...all: object[]) => {
    const print = new Fingerprint()
    print.addParts(all.map((each) => partOf(each)))
    return [print.high, print.low]
  }
  const first = printOf({ id: '~3' }, { id: '~7', of: '~3' })
  expect(printOf({ id: '~5' }, { id: '~1', of: '~5' })).toEqual(first)
  expect(printOf({ id: '~5' }, { id: '~1', of: '~1' })).not.toEqual(first)
  expect(printOf({ id: '~5' }, { id: '~1', of: '~2' })).not.toEqual(first)
})
