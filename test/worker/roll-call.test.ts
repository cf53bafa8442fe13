import { afterEach, describe, expect, test } from 'vitest'
import { emptyState } from '../../src/core/state.js'
import { callRoll, type RollCall } from '../../src/worker/roll-call.js'
import { newName } from '../support/idb.js'
import { range } from '../support/ranges.js'
import { FakeWorld, flush, lease, ownerIn } from '../support/world.js'

const calls: RollCall[] = []

afterEach(() => {
  for (const call of calls.splice(0)) call.close()
})

const call = (name: string, page: string): RollCall => {
  const roll = callRoll(name, page)
  calls.push(roll)
  return roll
}

/** Until everything said so far on this channel was heard by all. */
const heard = (name: string) =>
  new Promise<void>((resolve) => {
    const [ear, mouth] = [new BroadcastChannel(`${name} pages`), new BroadcastChannel(`${name} pages`)]
    ear.onmessage = ({ data }) => {
      if (data.page !== 'end') return
      ear.close()
      mouth.close()
      resolve()
    }
    mouth.postMessage({ page: 'end', isQuestion: false })
  })

describe('a roll call', () => {
  test('finds the pages that were there before, and those that come', async () => {
    const name = newName()
    const first = call(name, 'first')
    const second = call(name, 'second')
    for (let i = 0; i < 3; i++) await heard(name)
    expect(second.isAlive('first')).toBe(true)
    expect(first.isAlive('second')).toBe(true)
    expect(first.isAlive('first')).toBe(true)
  })

  test('misses the dead, and the pages of another storage', async () => {
    const name = newName()
    callRoll(name, 'dead').close()
    call(`${name}2`, 'stranger')
    const me = call(name, 'me')
    for (let i = 0; i < 3; i++) await heard(name)
    expect(me.isAlive('dead')).toBe(false)
    expect(me.isAlive('stranger')).toBe(false)
  })
})

describe('a page that starts', () => {
  const withLeases = async () => {
    const world = new FakeWorld()
    await world.put({
      ...emptyState(),
      ranges: [range(41, 99)],
      leases: [
        { id: 'dead:0.0', range: range(1, 10) },
        { id: 'alive:0.0', range: range(11, 20) },
      ],
    })
    return world
  }

  test('counts what killed pages held as gaps, after they had two seconds to answer', async () => {
    const world = await withLeases()
    Object.assign(world, { callRoll: () => ({ isAlive: (page: string) => page !== 'dead', close() {} }) })
    const { owner, told } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(1_999)
    expect((await world.stored()).leases).toHaveLength(2)
    await world.pass(1)
    await flush()
    expect(await world.stored()).toMatchObject({ leases: [{ id: 'alive:0.0' }], gaps: { crash: 10 }, ranges: [{ from: 41 }] })
    expect(told.at(-1)?.gaps.crash).toBe(10)
  })

  test('buries nobody where pages cannot hear each other', async () => {
    const world = await withLeases()
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(60 * 60_000)
    expect((await world.stored()).leases).toHaveLength(2)
  })
})
