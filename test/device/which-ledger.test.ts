/**
 * Two ledgers at one address (H34): the shortest ways to a number that exists twice, played by hand
 * with the device's own transitions and two servers that each grant from 1 on.
 */
import { describe, expect, test } from 'vitest'
import type { HeardLedger } from '../../src/core/errors.js'
import { applyCheckIn, beginCheckIn, isCheckInDue } from '../../src/device/check-in.js'
import { addGrant, beginClaim } from '../../src/device/claim.js'
import { exchange, surplus } from '../../src/device/device.js'
import { type DeviceClaim, type DeviceState, emptyState } from '../../src/device/state.js'
import { hear, ledgersDiffer, startOver } from '../../src/device/which-ledger.js'

const NOW = 1_000
const TAG = 'A'

/** Grants from `next` on, two numbers at a time; refuses a device of another name. */
class Server {
  readonly name: string
  next: number
  /** The ledger that it follows, above a number. */
  follows: { follows: string; above: number } | undefined

  constructor(name: string, next = 1, follows?: Server['follows']) {
    this.name = name
    this.next = next
    this.follows = follows
  }

  answer(claim: Pick<DeviceClaim, 'id' | 'ledgers'>): HeardLedger & { from?: number; id: string } {
    const { name, follows } = this
    const { id, ledgers } = claim
    const held = ledgers?.[TAG]
    if (held !== undefined && held !== name) return { id, name, tag: TAG, ...follows }
    const from = this.next
    this.next += 2
    return { id, name, tag: TAG, from }
  }
}

class Device {
  state: DeviceState = emptyState()
  readonly issued: number[] = []
  #claims = 0
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  /** Undefined: it claims nothing now. */
  claim() {
    const id = `${this.#name}${++this.#claims}`
    const { state, claim } = beginClaim(this.state, id, 1, 1, NOW)
    this.state = state
    return claim
  }

  hear({ id, from, ...heard }: ReturnType<Server['answer']>): this {
    this.state = hear(this.state, heard, NOW)
    if (from === undefined) return this
    const range = { from, to: from + 1, prefix: 'orders/', serverTag: TAG, token: `${heard.name}1` }
    this.state = addGrant(this.state, id, { range, ledger: heard.name! }, NOW)
    return this
  }

  /** Claims at this server and hears its answer. */
  ask(server: Server): this {
    const claim = this.claim()
    return claim ? this.hear(server.answer(claim)) : this
  }

  /** A page leases a number and issues it, where the device has one. */
  issue(): number | undefined {
    const id = `x${this.issued.length}`
    const wish = { page: 'p', id, want: 1, notes: [], cuts: [], takeBack: [], offer: false }
    const { state, leases } = exchange(this.state, wish, 0)
    this.state = state
    const number = leases[0]?.range.from
    if (number !== undefined) this.issued.push(number)
    return number
  }

  issueAll(): this {
    while (this.issue() !== undefined);
    return this
  }
}

const twice = (...devices: Device[]): number[] => {
  const all = devices.flatMap(({ issued }) => issued)
  return all.filter((n, i) => all.indexOf(n) < i)
}

/** A device that holds 1 and 2 of A, and one that holds 3 and 4 of it. */
function devicesOf(a: Server) {
  return [new Device('d').ask(a), new Device('e').ask(a)] as const
}

describe('two ledgers that answer at one address', () => {
  test('stop a device that hears the second: 12 steps to a number twice, where it goes on', () => {
    const [a, b] = [new Server('a'), new Server('b', 3)]
    const [d, e] = devicesOf(a)
    d.issueAll()
    // With the grants of A dropped, B's 3 and 4 were issued here, and A's 3 and 4 there.
    d.ask(b).ask(b).issueAll()
    e.issueAll()
    expect(twice(d, e)).toEqual([])
    expect(d.issued).toEqual([1, 2])
    expect(d.state.stopped).toMatchObject({ by: 'b', at: NOW })
  })

  test('stop it for good: it does not go on when the first one is heard again (13 steps)', () => {
    const [a, b] = [new Server('a'), new Server('b')]
    const [d] = devicesOf(a)
    d.issue()
    d.issue()
    d.ask(b)
    const before = d.state
    d.state = hear(d.state, { tag: TAG, name: 'a' }, NOW)
    expect(d.state).toBe(before)
    expect(d.claim()).toBeUndefined()
    expect(d.issue()).toBeUndefined()
  })

  test('stop it by an answer that grants nothing: one claim, sent twice (10 steps)', () => {
    const [a, b] = [new Server('a'), new Server('b')]
    const d = new Device('d')
    const e = new Device('e').ask(a)
    const claim = d.claim()!
    const [late, first] = [a.answer(claim), b.answer(claim)]
    d.hear(first)
    e.issue()
    d.hear(late)
    d.issueAll()
    expect(d.state.stopped).toMatchObject({ by: 'a' })
    expect(twice(d, e)).toEqual([])
  })

  test('and both refuse the other one before they grant: no number of theirs is lost', () => {
    const [a, b] = [new Server('a'), new Server('b')]
    const [d] = devicesOf(a)
    d.issueAll()
    d.ask(b)
    expect(b.next).toBe(1)
  })

  test('and answer in turn stop a device once: it does not drop one for the other', () => {
    const [a, b] = [new Server('a'), new Server('b')]
    const d = new Device('d').ask(a)
    for (const name of ['b', 'a', 'b', 'a']) d.state = hear(d.state, { tag: TAG, name }, NOW)
    expect(d.state).toMatchObject({
      stopped: { by: 'b', numbers: 2 },
      ranges: [{ from: 1, to: 2 }],
    })
    expect(d.ask(b).ask(a).issue()).toBeUndefined()
    expect([a.next, b.next]).toEqual([3, 1])
  })

  test('and that each device hears one alone of: numbers come twice (8 steps)', () => {
    const [d, e] = [new Device('d').ask(new Server('a')), new Device('e').ask(new Server('b'))]
    d.issueAll()
    e.issueAll()
    expect(twice(d, e)).toEqual([1, 2])
    // Whichever of them hears the other one later stops then.
    d.state = hear(d.state, { tag: TAG, name: 'b' }, NOW)
    expect(d.state.stopped).toMatchObject({ by: 'b' })
  })

  test('keep what the first granted: nothing is dropped, and nothing goes back', () => {
    const [a, b] = [new Server('a'), new Server('b')]
    const [d] = devicesOf(a)
    d.state = hear(d.state, { tag: TAG, name: b.name }, NOW)
    expect(d.state.ranges).toHaveLength(1)
    expect(surplus(d.state, 0)).toBe(0)
    expect(d.state.stopped).toEqual({ of: 'a', by: 'b', tag: TAG, at: NOW, numbers: 2 })
  })

  test('a claim under way ends; the token that it has shown goes into the next check-in', () => {
    const [a] = [new Server('a')]
    const [d] = devicesOf(a)
    d.issueAll()
    const { shown } = d.claim()!
    d.state = hear(d.state, { tag: TAG, name: 'b' }, NOW)
    expect(d.state.claim).toBeUndefined()
    expect(d.state.checkIn).toMatchObject({ grants: shown, ledgers: { A: 'a' } })
  })

  test('a device that holds nothing asks on, whether one follows the other', () => {
    const d = new Device('d').ask(new Server('a')).issueAll()
    d.state = { ...hear(d.state, { tag: TAG, name: 'b' }, NOW), grants: [] }
    expect(isCheckInDue(d.state, NOW)).toBe(true)
    expect(beginCheckIn(d.state, 'c').request).toMatchObject({ ledgers: { A: 'a' } })
  })
})

describe('a ledger that follows', () => {
  test('above all that the first granted: the device drops that, and goes on', () => {
    const a = new Server('a')
    const [d, e] = devicesOf(a)
    d.issue()
    const b = new Server('b', 11, { follows: 'a', above: 10 })
    d.state = hear(d.state, { tag: TAG, name: 'b', ...b.follows }, NOW)
    d.ask(b).issueAll()
    e.issueAll()
    expect(d.issued).toEqual([1, 11, 12])
    expect(twice(d, e)).toEqual([])
    expect(d.state).toMatchObject({ ledgers: { A: 'b' }, former: ['a'] })
    expect(d.state.gaps.ledger).toBe(2)
  })

  test('and begins too low stops the device (13 steps to a number twice)', () => {
    const [d] = devicesOf(new Server('a'))
    d.state = hear(d.state, { tag: TAG, name: 'b', follows: 'a', above: 1 }, NOW)
    expect(d.state.stopped).toMatchObject({ by: 'b' })
    expect(d.issue()).toBeUndefined()
  })

  test('lets a device go on that it has stopped before', () => {
    const [d] = devicesOf(new Server('a'))
    d.state = hear(d.state, { tag: TAG, name: 'b' }, NOW)
    d.state = hear(d.state, { tag: TAG, name: 'b', follows: 'a', above: 2 }, NOW)
    expect(d.state.stopped).toBeUndefined()
    expect(d.ask(new Server('b', 3)).issue()).toBe(3)
  })

  test('a late answer of the first one is known then, and grants nothing', () => {
    const a = new Server('a')
    const d = new Device('d').ask(a).issueAll()
    const claim = d.claim()!
    const late = a.answer(claim)
    d.state = hear(d.state, { tag: TAG, name: 'b', follows: 'a', above: 10 }, NOW)
    d.hear(late)
    expect(d.state.stopped).toBeUndefined()
    expect(d.state.ranges).toEqual([])
    // Not even for the claim that is pending, whatever id it has.
    const next = d.claim()!
    d.hear({ ...late, id: next.id })
    expect(d.state.ranges).toEqual([])
  })

  test('another one than the device holds numbers of says nothing to it', () => {
    const [d] = devicesOf(new Server('a'))
    d.state = hear(d.state, { tag: TAG, name: 'b', follows: 'c', above: 10 }, NOW)
    expect(d.state.stopped).toMatchObject({ by: 'b' })
  })
})

describe('starting over', () => {
  test('drops what the first granted, and goes on with either, above all that was here', () => {
    for (const name of ['a', 'b']) {
      const [d] = devicesOf(new Server('a'))
      d.state = startOver(hear(d.state, { tag: TAG, name: 'b' }, NOW), NOW)
      expect(d.state).toMatchObject({ former: ['a'], ranges: [], gaps: { ledger: 2 } })
      expect(d.state.ledgers).toBeUndefined()
      const claim = d.claim()!
      expect(claim).toMatchObject({ lastMax: 2 })
      expect(claim.ledgers).toBeUndefined()
      d.ask(new Server(name, 3))
      expect(d.state.ledgers).toEqual({ A: name })
      const third = hear(d.state, { tag: TAG, name: name === 'a' ? 'b' : 'a', follows: name }, NOW)
      expect(third.stopped).toMatchObject({ of: name })
    }
  })

  test('leaves a late answer of the first one unused (8 steps to a number twice)', () => {
    const a = new Server('a')
    const [d, e] = devicesOf(a)
    const late = a.answer(d.issueAll().claim()!)
    d.state = startOver(hear(d.state, { tag: TAG, name: 'b' }, NOW), NOW)
    d.ask(new Server('b', 5)).hear(late).issueAll()
    e.issueAll()
    expect(d.issued).toEqual([1, 2, 5, 6])
    expect(d.state.stopped).toBeUndefined()
    expect(twice(d, e)).toEqual([])
  })

  test('while others hold higher numbers of the first one makes numbers twice', () => {
    const [d, e] = devicesOf(new Server('a'))
    d.issueAll()
    d.state = startOver(hear(d.state, { tag: TAG, name: 'b' }, NOW), NOW)
    d.ask(new Server('b', d.claim()!.lastMax + 1)).issueAll()
    e.issueAll()
    expect(twice(d, e)).toEqual([3, 4])
  })

  test('changes nothing where no second ledger has answered', () => {
    const [d] = devicesOf(new Server('a'))
    expect(startOver(d.state, NOW)).toBe(d.state)
  })
})

describe('one ledger', () => {
  test('is stored with its first grant, and named by claims and check-ins', () => {
    const d = new Device('d').ask(new Server('a'))
    expect(d.state.ledgers).toEqual({ A: 'a' })
    const { request, state } = beginCheckIn(d.state, 'c')
    expect(request).toMatchObject({ ledgers: { A: 'a' } })
    const answer = { ledger: 'a', grants: [{ token: 'new', high: 2 }] }
    d.state = applyCheckIn(hear(state, { tag: TAG, name: answer.ledger }, NOW), 'c', answer, NOW)
    expect(d.issueAll().claim()).toMatchObject({ ledgers: { A: 'a' } })
    expect(d.issued).toEqual([1, 2])
  })

  test('under another tag grants other ids: a device holds numbers of both', () => {
    const [d] = devicesOf(new Server('a'))
    d.state = hear(d.state, { tag: 'B', name: 'b' }, NOW)
    expect(d.state.stopped).toBeUndefined()
  })

  test('without a name, as a RavenDB is, stops nobody', () => {
    const [d] = devicesOf(new Server('a'))
    expect(hear(d.state, { tag: TAG }, NOW)).toBe(d.state)
    expect(hear(emptyState(), { tag: TAG, name: 'a' }, NOW)).toEqual(emptyState())
  })
})

describe('the message', () => {
  const stop = { of: 'aaa', by: 'bbb', tag: TAG, at: Date.UTC(2026, 10, 27), numbers: 32 }

  test('says which two ledgers, since when, what waits, and how to go on', () => {
    const { code, message } = ledgersDiffer('https://ids.example.com', 'Shop', stop)
    expect(code).toBe('other-ledger')
    for (const part of ['aaa', 'bbb', '2026-11-27', '32 ids', 'startOver()', '--name aaa'])
      expect(message).toContain(part)
  })

  test.each(['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:3000'])(
    'at %s is two lines',
    (url) => {
      const { message } = ledgersDiffer(url, 'Shop', stop)
      expect(message.split('\n')).toHaveLength(2)
      expect(message).toContain('hilo.startOver()')
    },
  )
})
