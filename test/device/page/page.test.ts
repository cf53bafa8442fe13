/** What a page tells of its leases: taken at once, as a region does, and handed on to a batch. */
import { expect, test } from 'vitest'
import { exchange, settle } from '../../../src/device/device.js'
import {
  answered,
  ask,
  cutTo,
  exit,
  giveUp,
  handOn,
  newPage,
  notesToLeave,
  takeAll,
  takeOver,
} from '../../../src/device/page/page.js'
import { emptyState } from '../../../src/device/state.js'
import { range } from '../../support/ranges.js'

test('all that a page holds is taken at once, and the next exchange says that it is used', () => {
  const page = newPage('p')
  const request = ask(page, { id: 'p:1', want: 8, offer: false })
  const leases = [
    { id: 'p:1.0', page: 'p', range: range(1, 4) },
    { id: 'p:1.1', page: 'p', range: range(9, 12) },
  ]
  answered(page, request, { leases, offers: [], outstanding: leases })
  expect([page.queue.take(), page.queue.take()]).toEqual([1, 2])
  expect(takeAll(page)).toEqual([range(3, 4), range(9, 12)])
  expect([page.queue.held, page.queue.take()]).toEqual([0, -1])
  expect(takeAll(page)).toEqual([])
  expect(ask(page, { id: 'p:2', want: 0, offer: false }).notes).toEqual([
    { lease: 'p:1.0', next: 5 },
    { lease: 'p:1.1', next: 13 },
  ])
})

test('no answer tells a new batch of the leases of its page, and later ones tell it', () => {
  const batch = newPage('p')
  const request = ask(batch, { id: 'p:2', want: 3, offer: false })
  const others = { id: 'p:1.0', page: 'p', range: range(1, 9) }
  const before = { ...emptyState(), ranges: [range(10, 40)], leases: [others] }
  const { state, ...answer } = exchange(before, request, 0)
  expect(answer.outstanding).toEqual([])
  answered(batch, request, answer)
  expect(batch.queue.held).toBe(3)
  const again = ask(batch, { id: 'p:3', want: 0, offer: false })
  expect(exchange(state, again, 0).outstanding).toEqual([others, ...answer.leases])
})

test('an answer settles what its request told, and not what became of the same lease since', () => {
  const page = newPage('p')
  const wish = { want: 8, offer: false }
  const nothing = { leases: [], offers: [], outstanding: [] }
  const lease = { id: 'p:1.0', page: 'p', range: range(1, 12) }
  answered(page, ask(page, { id: 'p:1', ...wish }), { ...nothing, leases: [lease] })
  page.queue.take()
  cutTo(page, 7)
  const request = ask(page, { id: 'p:2', ...wish })
  expect(request.cuts).toEqual([{ lease: lease.id, to: 8 }])
  giveUp(page)
  answered(page, request, nothing)
  const later = ask(page, { id: 'p:3', ...wish })
  expect(later.cuts).toEqual([])
  expect(later.notes).toContainEqual({ lease: lease.id, next: 2 })
  answered(page, later, nothing)
  expect(ask(page, { id: 'p:4', ...wish }).notes).toEqual([])
})

test('a batch gets what its page hands on, also where the page asks for more first', () => {
  const page = newPage('p')
  const batch = newPage('p')
  let state = { ...emptyState(), ranges: [range(1, 40)] }
  const exchanged = (of: typeof page, request: ReturnType<typeof ask>) => {
    const { state: next, ...answer } = exchange(state, request, 0)
    state = next
    answered(of, request, answer)
  }
  exchanged(page, ask(page, { id: 'p:1', want: 20, offer: true }))
  page.queue.take()
  handOn(page, batch, 17)
  expect(page.queue.held).toBe(2)
  const ofBatch = ask(batch, { id: 'p:2', want: 17, offer: false })
  exchanged(page, ask(page, { id: 'p:3', want: 30, offer: true }))
  exchanged(batch, ofBatch)
  expect(batch.queue.held).toBe(17)
  expect(page.queue.held).toBe(2 + 20)
})

test('what a batch tells of a lease does not hide what its page tells of it later', () => {
  const page = newPage('p')
  const batch = newPage('p')
  const lease = { id: 'p:1.0', page: 'p', range: range(1, 20) }
  const answer = { leases: [lease], offers: [], outstanding: [lease] }
  answered(page, ask(page, { id: 'p:1', want: 20, offer: false }), answer)
  page.queue.take()
  handOn(page, batch, 5)
  giveUp(page)
  takeOver(page, batch)
  const { notes, cuts } = ask(page, { id: 'p:2', want: 0, offer: false })
  expect({ notes, cuts }).toEqual({ notes: [{ lease: lease.id, next: 2 }], cuts: [] })
  expect(ask(batch, { id: 'p:3', want: 0, offer: false }).cuts).toEqual([])
})

test('what a batch could not tell, its page tells', () => {
  const page = newPage('p')
  const batch = newPage('p')
  const leases = [range(1, 4), range(9, 20)].map((each, i) => ({
    id: `p:1.${i}`,
    page: 'p',
    range: each,
  }))
  const answer = { leases, offers: [], outstanding: leases }
  answered(page, ask(page, { id: 'p:1', want: 16, offer: false }), answer)
  cutTo(page, 14)
  handOn(page, batch, 11)
  ask(batch, { id: 'p:2', want: 11, offer: false })
  takeOver(page, batch)
  const { notes, cuts } = ask(page, { id: 'p:3', want: 0, offer: false })
  expect(notes).toEqual([
    { lease: 'p:1.1', next: 9 },
    { exchange: 'p:2', takeBack: [] },
  ])
  expect(cuts).toEqual([{ lease: 'p:1.0', to: 3 }])
})

test('a page that goes sends back what it holds, not what it has parked', () => {
  const page = newPage('p')
  const lease = { id: 'p:1.0', page: 'p', range: range(1, 20) }
  const before = { ...emptyState(), leases: [lease] }
  const answer = { leases: [lease], offers: [], outstanding: [lease] }
  answered(page, ask(page, { id: 'p:1', want: 20, offer: false }), answer)
  page.queue.take()
  cutTo(page, 9)
  expect(exit(page, 'p:2', true, 'A', true)).toEqual([range(2, 10)])
  expect(settle(before, notesToLeave(page))).toMatchObject({
    ranges: [range(11, 20)],
    offers: [],
    leases: [],
  })
})

test('a page that goes leaves a note of what it may not send', () => {
  const page = newPage('p')
  const lease = { id: 'p:1.0', page: 'p', range: range(1, 20) }
  const answer = { leases: [lease], offers: [], outstanding: [lease] }
  answered(page, ask(page, { id: 'p:1', want: 20, offer: false }), answer)
  expect(exit(page, 'p:2', false, 'A', true)).toEqual([])
  expect(notesToLeave(page)).toEqual([{ lease: 'p:1.0', next: 1 }])
})
