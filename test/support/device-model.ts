/**
 * One device, its pages and a server, as a model that plays the real transitions of `src/core`
 * against every kind of loss: killed pages, lost and repeated answers, give-backs that arrive late,
 * twice or never. It throws as soon as a number has two owners.
 */
import { applyCheckIn, beginCheckIn } from '../../src/core/check-in.js'
import { addGrant, beginClaim } from '../../src/core/claim.js'
import { exchange, settle } from '../../src/core/device.js'
import { HiloError } from '../../src/core/errors.js'
import { type Range, size } from '../../src/core/range.js'
import {
  type DeviceState,
  type Exchange,
  type Exchanged,
  emptyState,
  type GrantedRange,
  type Lease,
  type LeaseNote,
  type Note,
  type Offer,
} from '../../src/core/state.js'
import type { CheckInAnswer, CheckInRequest } from '../../src/core/wire.js'
import { writeOffPages } from '../../src/core/write-off.js'
import { ServerModel } from './server-model.js'

interface Page {
  id: string
  exchanges: number
  held: { lease: Lease; next: number; to: number }[]
  spent: LeaseNote[]
  offers: Offer[]
}

export class DeviceModel {
  state: DeviceState = emptyState()
  readonly server: ServerModel
  /** Every number that an app, here or anywhere else, has used. */
  readonly issued = new Map<number, string>()
  readonly #pages: Page[] = []
  /**
   * Notes as pages leave them, in two copies each; read in any order, at any time, and sometimes
   * again.
   */
  readonly #copies: Note[] = []
  readonly #onTheWay: { range: Range; note: LeaseNote }[] = []
  readonly #answers: { claim: string; grant: GrantedRange }[] = []
  readonly #checkIns: { request: CheckInRequest; answer: CheckInAnswer }[] = []
  readonly #late: Exchange[] = []
  #ids = 0

  constructor(hasTokens: boolean) {
    this.server = new ServerModel(hasTokens)
    for (let i = 0; i < 3; i++) this.#pages.push(this.#newPage())
  }

  claim(want: number, count: number): void {
    const isNew = !this.state.claim
    const { state, claim } = beginClaim(this.state, `claim${this.#ids++}`, want, 8, 0)
    this.state = state
    if (!claim) return
    const issuedHere = [...this.issued].flatMap(([number, by]) =>
      by === 'elsewhere' ? [] : number,
    )
    if (isNew && claim.lastMax < Math.max(0, ...issuedHere))
      throw new Error('lastMax is below a number that was issued')
    this.#answers.push({ claim: claim.id, grant: this.server.grant(claim, count) })
  }

  /** An answer arrives, in one tab or, with a token, in two. */
  takeAnswer(pick: number, isSeenTwice: boolean): void {
    const [answer] = this.#answers.splice(pick % (this.#answers.length || 1), 1)
    if (!answer) return
    const add = () => {
      try {
        this.state = addGrant(this.state, answer.claim, answer.grant, 0)
      } catch (error) {
        if (!(error instanceof HiloError) || error.code !== 'invalid-response') throw error
      }
    }
    add()
    if (isSeenTwice && answer.grant.range.token) add()
  }

  exchange(pick: number, want: number, offer: boolean, isLost: boolean): void {
    const page = this.#page(pick)
    const request: Exchange = {
      page: page.id,
      id: `${page.id}:orders:${page.exchanges++}`,
      want,
      notes: page.spent,
      cuts: this.#cut(page, want),
      takeBack: page.offers.map(({ id }) => id),
      offer,
    }
    page.spent = []
    page.offers = []
    const { state, ...answer } = exchange(this.state, request, 8)
    this.state = state
    this.#repeat(request, answer)
    if (isLost) {
      this.kill(pick)
      return
    }
    for (const lease of answer.leases)
      page.held.push({ lease, next: lease.range.from, to: lease.range.to })
    page.offers = answer.offers
  }

  /**
   * The page goes while an exchange is under way. It cancels the exchange; the device makes the
   * answer before or after it reads that.
   */
  exchangeUnheard(pick: number, want: number, offer: boolean, isLate: boolean): void {
    const page = this.#page(pick)
    const brought = {
      notes: page.spent.splice(0),
      takeBack: page.offers.splice(0).map(({ id }) => id),
    }
    const request: Exchange = {
      page: page.id,
      id: `${page.id}:orders:${page.exchanges++}`,
      want,
      cuts: [],
      offer,
      ...brought,
    }
    if (isLate) this.#late.push(request)
    else this.state = exchange(this.state, request, 8).state
    this.#leaveNotes([...brought.notes, { exchange: request.id, takeBack: brought.takeBack }])
    this.park(pick)
  }

  runLate(pick: number): void {
    const [request] = this.#late.splice(pick % (this.#late.length || 1), 1)
    if (request) this.state = exchange(this.state, request, 8).state
  }

  issue(pick: number, count: number): void {
    const page = this.#page(pick)
    for (let i = 0; i < count; i++) {
      const current = page.held[0]
      if (!current) return
      if (current.next > current.to) {
        page.spent.push({ lease: current.lease.id, next: current.next })
        page.held.shift()
      } else this.#use(current.next++, page.id)
    }
  }

  /** Somebody else's app takes numbers from the same server and uses them at once. */
  issueElsewhere(count: number): void {
    const { from, to } = this.server.grant(
      { id: `elsewhere${this.#ids++}`, lastBatchSize: count, lastMax: 0 },
      count,
    ).range
    for (let number = from; number <= to; number++) this.#use(number, 'elsewhere')
  }

  park(pick: number): void {
    const page = this.#page(pick)
    const notes = [
      ...page.spent,
      ...page.held.map(({ lease, next }) => ({ lease: lease.id, next })),
    ]
    page.spent = []
    page.held = []
    this.#leaveNotes(notes)
  }

  /** Parks, and sends the surplus back; `keepsNothing`: what is left of its leases, too. */
  leave(pick: number, keepsNothing: boolean): void {
    const page = this.#page(pick)
    const sent = page.offers.map(({ id, range }) => ({
      note: { lease: id, next: range.from, givenBack: true as const },
      range,
    }))
    if (keepsNothing)
      for (const { lease, next, to } of page.held.splice(0))
        sent.push({
          note: { lease: lease.id, next, givenBack: true },
          range: { ...lease.range, from: next, to },
        })
    page.offers = []
    this.park(pick)
    this.#leaveNotes(sent.map(({ note }) => note))
    this.#onTheWay.push(
      ...sent.filter(({ range }) => size(range) > 0).sort((a, b) => b.range.from - a.range.from),
    )
    // RavenDB's return is only safe at once or never: nobody can tell it from somebody else's
    // later.
    if (!this.server.hasTokens) this.#arriveAll()
  }

  giveBackArrives(pick: number, comesAgain: boolean): void {
    const [sent] = this.#onTheWay.splice(pick % (this.#onTheWay.length || 1), 1)
    if (!sent) return
    this.server.giveBack(sent.range)
    if (comesAgain) this.#onTheWay.push(sent)
  }

  settle(pick: number, isReadAgain: boolean): void {
    const [note] = this.#copies.splice(pick % (this.#copies.length || 1), 1)
    if (!note) return
    this.state = settle(this.state, [note])
    if (isReadAgain) this.#copies.push(note)
  }

  checkIn(): void {
    if (!this.server.hasTokens) return
    const { state, request } = beginCheckIn(this.state, `check${this.#ids++}`)
    this.state = state
    if (request) this.#checkIns.push({ request, answer: this.server.checkIn(request) })
  }

  takeCheckIn(pick: number, isSeenTwice: boolean): void {
    const [done] = this.#checkIns.splice(pick % (this.#checkIns.length || 1), 1)
    if (!done) return
    this.state = applyCheckIn(this.state, done.request.id, done.answer, 0)
    if (isSeenTwice) this.state = applyCheckIn(this.state, done.request.id, done.answer, 0)
  }

  /** Right or wrong, a page is taken for dead. */
  writeOffPages(pick: number): void {
    this.state = writeOffPages(this.state, new Set([this.#page(pick).id]))
  }

  kill(pick: number): void {
    this.#pages[pick % this.#pages.length] = this.#newPage()
  }

  #newPage(): Page {
    return { id: `page${this.#ids++}`, exchanges: 0, held: [], spent: [], offers: [] }
  }

  #page(pick: number): Page {
    return this.#pages[pick % this.#pages.length]!
  }

  #use(number: number, by: string): void {
    const before = this.issued.get(number)
    if (before) throw new Error(`${number} was issued by ${before}, and again by ${by}`)
    this.issued.set(number, by)
  }

  #leaveNotes(notes: readonly Note[]): void {
    this.#copies.push(...notes, ...notes)
  }

  #arriveAll(): void {
    for (const { range } of this.#onTheWay.splice(0)) this.server.giveBack(range)
  }

  /** Gives the newest lease's upper half up, now and then. */
  #cut(page: Page, want: number): Exchange['cuts'] {
    const last = page.held.at(-1)
    if (want % 3 !== 0 || !last || last.to - last.next < 2) return []
    last.to -= (last.to - last.next) >> 1
    return [{ lease: last.lease.id, to: last.to }]
  }

  #repeat(request: Exchange, first: Exchanged): void {
    const { state, leases, offers } = exchange(this.state, request, 8)
    if (first.leases.length + first.offers.length === 0) return
    if (
      JSON.stringify({ leases, offers }) !==
      JSON.stringify({ leases: first.leases, offers: first.offers })
    )
      throw new Error('a repeated exchange was answered in another way')
    if (JSON.stringify(state) !== JSON.stringify(this.state))
      throw new Error('a repeated exchange changed the state')
  }
}
