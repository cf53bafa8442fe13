/**
 * The queue of a page’s leases: every number goes exactly one way, and none after it was voided.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LeaseQueue } from '../../../src/device/page/lease-queue.js'
import type { Lease } from '../../../src/device/state.js'
import { range } from '../../support/ranges.js'

const leaseOf = (id: string, from: number, to: number, more = {}): Lease => ({
  id,
  page: 'page',
  range: range(from, to, more),
})

const takeAll = (queue: LeaseQueue): number[] => {
  const taken: number[] = []
  for (let number = queue.take(); number >= 0; number = queue.take()) taken.push(number)
  return taken
}

describe('LeaseQueue', () => {
  test('gives numbers in the order they were leased, and then −1', () => {
    const queue = new LeaseQueue()
    queue.add([leaseOf('b', 10, 12), leaseOf('a', 1, 2)])
    expect(takeAll(queue)).toEqual([10, 11, 12, 1, 2])
    expect(queue.take()).toBe(-1)
    expect(queue.held).toBe(0)
  })

  test('says with each number the prefix and node that it was granted with', () => {
    const queue = new LeaseQueue()
    queue.add([
      leaseOf('a', 1, 1, { serverTag: 'A' }),
      leaseOf('b', 1, 1, { serverTag: 'B', prefix: 'Orders/' }),
    ])
    queue.take()
    expect(queue).toMatchObject({ prefix: 'orders/', serverTag: 'A', suffix: '-A' })
    queue.take()
    expect(queue).toMatchObject({ prefix: 'Orders/', serverTag: 'B', suffix: '-B' })
  })

  test('names each lease that is used up, once', () => {
    const queue = new LeaseQueue()
    queue.add([leaseOf('a', 1, 2), leaseOf('b', 5, 6)])
    for (let i = 0; i < 3; i++) queue.take()
    expect(queue.takeSpent()).toEqual([{ lease: 'a', next: 3 }])
    expect(queue.takeSpent()).toEqual([])
  })

  test('gives nothing after it was voided, and says how far each lease was used', () => {
    const queue = new LeaseQueue()
    queue.add([leaseOf('a', 1, 4), leaseOf('b', 9, 12)])
    queue.take()
    expect(queue.revoke().map(({ lease, next }) => [lease.id, next])).toEqual([
      ['a', 2],
      ['b', 9],
    ])
    expect(queue.held).toBe(0)
    expect(queue.take()).toBe(-1)
    expect(queue.revoke()).toEqual([])
  })

  test('takes renewed tokens over, for leases that it gives up later', () => {
    const queue = new LeaseQueue()
    queue.add([leaseOf('a', 1, 4, { token: 'old' }), leaseOf('b', 9, 12, { token: 'old' })])
    queue.take()
    queue.renew([leaseOf('a', 1, 4, { token: 'new' }), leaseOf('b', 9, 12, { token: 'new' })])
    expect(queue.revoke().map(({ lease, next }) => [lease.range.token, next])).toEqual([
      ['new', 2],
      ['new', 9],
    ])
  })

  test('renewing changes nothing else: a lease that was cut stays cut', () => {
    const queue = new LeaseQueue()
    queue.add([leaseOf('a', 1, 8, { token: 'old' })])
    queue.take()
    queue.cutTo(3)
    queue.renew([leaseOf('a', 1, 8, { token: 'new' })])
    expect(takeAll(queue)).toEqual([2, 3, 4])
  })

  test('gives the newest numbers up first when it is cut', () => {
    const queue = new LeaseQueue()
    queue.add([leaseOf('a', 1, 4), leaseOf('b', 9, 12), leaseOf('c', 20, 29)])
    expect(queue.cutTo(6)).toEqual({
      notes: [{ lease: 'c', next: 20 }],
      cuts: [{ lease: 'b', to: 10 }],
    })
    expect(takeAll(queue)).toEqual([1, 2, 3, 4, 9, 10])
  })
})

test('whatever is leased, taken, cut and revoked, every number goes exactly one way', () => {
  type Step = { act: 'add' | 'take' | 'cut' | 'void' | 'spent'; count: number }
  const step: fc.Arbitrary<Step> = fc.record({
    act: fc.constantFrom('add', 'take', 'take', 'cut', 'void', 'spent'),
    count: fc.nat(20),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new LeaseQueue()
      /** The device's side: what every lease still covers, until it is settled. */
      const open = new Map<string, { from: number; to: number }>()
      const issued: number[] = []
      const back: number[] = []
      let next = 1
      const settle = (id: string, from: number) => {
        const lease = open.get(id)!
        open.delete(id)
        for (let number = from; number <= lease.to; number++) back.push(number)
        for (let number = lease.from; number < from; number++) expect(issued).toContain(number)
      }
      for (const { act, count } of steps) {
        const before = queue.held
        if (act === 'add') {
          const lease = leaseOf(`L${next}`, next, next + count)
          open.set(lease.id, { ...lease.range })
          next += count + 1
          queue.add([lease])
        } else if (act === 'take') {
          for (let i = 0; i < count; i++) {
            const number = queue.take()
            if (number >= 0) issued.push(number)
          }
          expect(queue.held).toBe(Math.max(0, before - count))
        } else if (act === 'cut') {
          const { notes, cuts } = queue.cutTo(count)
          for (const { lease, next: from } of notes) settle(lease, from)
          for (const { lease, to } of cuts) {
            const cut = open.get(lease)!
            expect(to).toBeGreaterThanOrEqual(cut.from)
            for (let number = to + 1; number <= cut.to; number++) back.push(number)
            cut.to = to
          }
          expect(queue.held).toBe(Math.min(before, count))
        } else if (act === 'void')
          for (const { lease, next: from } of queue.revoke()) settle(lease.id, from)
        else for (const { lease, next: from } of queue.takeSpent()) settle(lease, from)
      }
      for (const { lease, next: from } of [
        ...queue.takeSpent().map((note) => ({ lease: { id: note.lease }, next: note.next })),
        ...queue.revoke(),
      ])
        settle(lease.id, from)
      expect(open.size).toBe(0)
      expect([...issued, ...back].sort((a, b) => a - b)).toEqual(
        Array.from({ length: next - 1 }, (_, i) => i + 1),
      )
      expect(queue.issued).toBe(issued.length)
    }),
    { numRuns: 300 },
  )
})
