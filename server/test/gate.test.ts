/** The gate: turns go round among all who wait, and nobody has more than a part of the work. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createGate, MOST_AT_WORK } from '../src/http/gate.js'

/** A gate, and the work behind it, which ends when the test says so. */
function newGate(places = 10_000) {
  const refused: string[] = []
  const gate = createGate(places, (who) => refused.push(who))
  const begun: { who: string; end: () => void }[] = []
  const enter = (who: string, units = 1, { share = 10_000, part = MOST_AT_WORK, lane = '' } = {}) =>
    gate.enter(
      { who, share, part, units, lane },
      () => new Promise<void>((end) => begun.push({ who, end })),
    )
  return { gate, begun, enter, refused, who: () => begun.map(({ who }) => who) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('who sends much waits behind itself, and not before the others', async () => {
  const { begun, enter, who } = newGate(1_000_000)
  const share = 1_000_000
  const all = [enter('thief', MOST_AT_WORK, { share })]
  for (let i = 0; i < 100; i++) all.push(enter('thief', 100, { share }))
  for (let i = 0; i < 20; i++) all.push(enter(`till ${i}`))
  expect(who()).toEqual(['thief'])
  begun[0]!.end()
  await turn()
  const order = who().slice(1)
  // The thief stood in front of all others, and has one turn before each of them has one.
  expect(order.slice(0, 21)).toEqual([
    'thief',
    ...Array.from({ length: 20 }, (_, i) => `till ${i}`),
  ])
  for (let i = 1; i < all.length; i++) {
    begun[i]!.end()
    await turn()
  }
  await Promise.all(all)
})

test('nobody has more than a part of the work: who comes later begins at once', async () => {
  const { begun, enter, who } = newGate()
  const all = Array.from({ length: 10 }, () => enter('thief', 50, { part: 100 }))
  expect(who()).toEqual(['thief', 'thief'])
  all.push(enter('till', 1, { part: 100 }), enter('one of any size', 200, { part: 100 }))
  expect(who().slice(2)).toEqual(['till', 'one of any size'])
  for (let i = 0; i < all.length; i++) {
    begun[i]!.end()
    await turn()
  }
  await Promise.all(all)
})

test('with a part of one unit, a visitor has one at work', async () => {
  const { begun, enter, who } = newGate()
  const all = ['thief', 'thief', 'till'].map((name) => enter(name, 1, { part: 1 }))
  expect(who()).toEqual(['thief', 'till'])
  for (let i = 0; i < all.length; i++) {
    begun[i]!.end()
    await turn()
  }
  await Promise.all(all)
})

test('a request that finds no place is refused before its work begins', async () => {
  const { gate, begun, enter, who } = newGate(3)
  const all = [enter('a', 2), enter('b')]
  await expect(enter('c')).rejects.toMatchObject({ status: 503, reason: 'queue' })
  expect(who()).toEqual(['a', 'b'])
  expect(gate.waiting()).toBe(0)
  for (const { end } of begun) end()
  await Promise.all(all)
  const large = enter('c', 50)
  begun[2]!.end()
  await large
})

test('a visitor has a share of the places, and one request of any size', async () => {
  const { begun, enter, refused } = newGate()
  const large = enter('a', 50, { share: 10 })
  await expect(enter('a', 1, { share: 10 })).rejects.toMatchObject({ status: 429 })
  expect(refused).toEqual(['a'])
  begun[0]!.end()
  await large
  const again = [enter('a', 9, { share: 10 }), enter('a', 1, { share: 10 })]
  await expect(enter('a', 1, { share: 10 })).rejects.toMatchObject({ status: 429 })
  for (const { end } of begun) end()
  await Promise.all(again)
})

test('work about a bound collection delays no other', async () => {
  const { begun, enter, who } = newGate(1_000)
  const locked = [enter('a', 500, { lane: 'bound' }), enter('b', 500, { lane: 'bound' })]
  await expect(enter('c', 1, { lane: 'bound' })).rejects.toMatchObject({ status: 503 })
  const other = enter('c')
  expect(who()).toEqual(['a', 'c'])
  begun[1]!.end()
  await other
  begun[0]!.end()
  await turn()
  begun[2]!.end()
  await Promise.all(locked)
})

test('however many lanes there are, ten times as many wait as in one', async () => {
  const { begun, enter } = newGate(3)
  const full = Array.from({ length: 10 }, (_, i) => enter(`${i}`, 3, { lane: `locked ${i}` }))
  await expect(enter('more', 1, { lane: 'one more' })).rejects.toMatchObject({ status: 503 })
  for (const { end } of begun) end()
  await Promise.all(full)
})

test('work that fails makes room', async () => {
  const { gate, enter, begun } = newGate(1)
  const visit = { who: 'a', share: 1, part: 1, units: 1, lane: '' }
  await expect(gate.enter(visit, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  const next = enter('b')
  begun[0]!.end()
  await next
})

test('of a visitor who has gone, nothing is kept: names come from requests', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const gate = createGate(100, () => {})
  const visits = 20_000
  const ask = async (round: number) => {
    for (let i = 0; i < visits; i++) {
      const who = `${round}.${i}`.padEnd(500)
      await gate.enter({ who, share: 1, part: 1, units: 1, lane: who }, async () => {})
    }
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = await ask(1)
  expect((await ask(2)) - before).toBeLessThan(visits * 250)
})
