/**
 * The claims of one collection: one at a time, repeated after a failure, and safe to lose at any
 * point, because a claim's id is stored before it is first sent (H11).
 */
import { type Failure, type HeardLedger, type HiloError, toFailure } from '../core/errors.js'
import { isRepeated, nextStep } from '../core/failures.js'
import { beginClaim, dropClaim } from '../device/claim.js'
import { hear, ledgersDiffer } from '../device/ledger.js'
import { granted, refused, type Tries } from '../device/owner/claiming.js'
import { goOn } from '../device/sizes.js'
import type { DeviceClaim, GrantedRange, Stop } from '../device/state.js'
import { pagesWithOffers } from '../device/write-off.js'
import type { CheckIns } from './check-ins.js'
import type { Begun, ClaimRequests, Sent } from './claim-requests.js'
import type { CollectionRecord } from './record.js'
import { Retry } from './retry.js'

const PAUSES = { first: 1_000, longest: 60_000 }

export class Claims {
  /** The same as the record's, for callers, as long as the server's pause lasts. */
  #lastFailure: Failure | undefined
  readonly #record: CollectionRecord
  /** Of the collection's database. */
  readonly #requests: ClaimRequests
  readonly #checkIns: CheckIns
  readonly #retry: Retry
  #flight: Promise<Failure | undefined> | undefined
  /** How many numbers the last grant was too small. */
  #missing = 0
  #tries: Tries = { isFirst: true, largest: undefined }

  constructor(record: CollectionRecord, requests: ClaimRequests, checkIns: CheckIns) {
    this.#record = record
    this.#requests = requests
    this.#checkIns = checkIns
    this.#retry = new Retry(record.owner, PAUSES)
  }

  /** The server asked for a pause, or has just let a request wait in vain. */
  get isPaused(): boolean {
    return this.#retry.isPaused
  }

  /**
   * Asks the server once, unless `want` numbers are free. A caller that asks while a claim is under
   * way gets the outcome of that one.
   */
  ask(want: number): Promise<Failure | undefined> {
    const isOnline = this.#record.owner.isOnline()
    if (!isOnline) return Promise.resolve(SWITCHED_OFF)
    if (this.isPaused && !this.#flight) {
      // guard: H16 who is told that a claim is repeated waits for one, also after a release
      if (this.#lastFailure?.isRepeated) this.#retry.resume(() => this.askInBackground(want))
      return Promise.resolve(this.#lastFailure)
    }
    this.#flight ??= this.#start(want).finally(() => {
      this.#record.isClaiming = false
      this.#flight = undefined
    })
    return this.#flight
  }

  askInBackground(want: number): void {
    const record = this.#record
    const { signal, isOnline, run } = record.owner
    if (this.#flight || signal.aborted || !isOnline()) return
    const ended = (failure: Failure | undefined) => {
      const { shared } = record
      const more = goOn(shared, failure ? 0 : this.#missing, record.filledTo(shared.reserve))
      if (more > 0) this.askInBackground(more)
      record.notify()
    }
    run(this.ask(want).then(ended))
    record.notify()
  }

  /** The network may be back: a claim that failed is sent again now. */
  retryNow(): void {
    this.#retry.now()
  }

  /** Resolves when nothing is under way, and nothing is repeated any more. */
  async finish(): Promise<void> {
    await this.#flight
    this.#retry.cancel()
  }

  async #start(want: number): Promise<Failure | undefined> {
    this.#record.isClaiming = true
    this.#retry.cancel()
    const { owner } = this.#record
    try {
      await this.#claimInTurn(want)
      this.#retry.succeeded()
      this.#lastFailure = undefined
    } catch (error) {
      const failure = await owner.explained(toFailure(error, 'storage-failed'))
      this.#lastFailure = isRepeated(failure) ? { ...failure, isRepeated: true } : failure
      this.#retry.failed(failure, () => this.askInBackground(want))
    }
    this.#record.failure = this.#lastFailure
    return this.#lastFailure
  }

  /**
   * Another tab may send the same stored claim, and use the grant before this one is answered. So
   * one tab at a time claims for a collection. Nobody waits here for the lock of another one.
   */
  async #claimInTurn(want: number): Promise<void> {
    const { owner, target, name } = this.#record
    const { source, world } = owner
    const isAlone = () => source.isPlain?.(target.database) ?? true
    if (!isAlone()) this.#requests.open()
    // guard: H18 one tab at a time claims for a collection
    await world.lock(`offline-hilo ${name} claim`, async () => {
      if (!isAlone())
        try {
          return await this.#claim(want, false)
        } catch (error) {
          const { code } = error as HiloError
          // Another collection may have learnt meanwhile that this is a RavenDB.
          // guard: H25 only a claim that was refused is made by another route
          if (!isAlone() || code !== 'server-refused') throw error
        }
      await this.#claim(want, true)
    })
  }

  async #claim(want: number, isAlone: boolean): Promise<void> {
    this.#tries = { ...this.#tries, isFirst: this.#retry.failures === 0 }
    for (;;) {
      const { claim, grant } = await this.#ask(want, isAlone)
      // Without a claim there are enough numbers: other tabs claimed or parked some.
      this.#missing = 0
      if (!claim || !grant) return
      try {
        return await this.#add(claim, await grant, want)
      } catch (error) {
        const failure = toFailure(error, 'storage-failed')
        const { ledger } = failure
        const follows = ledger && claim.ledgers?.[ledger.tag]
        if (ledger && (await this.#follows({ ...ledger, follows }))) continue
        const step = nextStep(failure)
        if (step === 'same' || step === 'stop') throw error
        // guard: H25 a claim that is refused for good is forgotten
        const isOurs = await this.#record.update((state) => [
          dropClaim(state, claim.id),
          state.claim?.id === claim.id,
        ])
        // A check-in shows its token now.
        if (claim.shown) void this.#checkIns.ask(this.#record)
        const [tries, isAgain] = refused(this.#tries, step, claim.lastBatchSize, isOurs)
        this.#tries = tries
        if (!isAgain) throw error
      }
    }
  }

  /**
   * @returns whether the device goes on with that ledger
   * @throws HiloError when it does not, and stops
   */
  async #follows(heard: HeardLedger): Promise<boolean> {
    const { stopped, isNew } = await this.#record.update((state, { date }) => {
      // guard: H34 a claim that another ledger refuses is heard
      const next = hear(state, heard, date)
      return [next, { stopped: next.stopped, isNew: next.followed !== state.followed }]
    })
    if (!stopped) return isNew
    // It is refused, too: so all collections of the database hear.
    void this.#checkIns.ask(this.#record)
    throw this.#twoLedgers(stopped)
  }

  /** Why nothing is claimed, where two ledgers have answered. */
  #twoLedgers(stop: Stop): HiloError {
    const { owner, target } = this.#record
    return ledgersDiffer(owner.url, target.database, stop)
  }

  /**
   * It first asks other pages of this device to park the surplus that they were to give back: they
   * are nearer than the server.
   */
  async #ask(want: number, isAlone: boolean): Promise<Sent> {
    const { owner, name, target } = this.#record
    for (let mayPark = true; ; mayPark = false) {
      const begin = (id: string) => this.#begin(id, want, mayPark)
      const sent = await this.#requests.claim(target, begin, isAlone)
      if (!sent.pages) return sent
      await owner.tabs?.askToPark(name, sent.pages)
    }
  }

  /** The claim to send, durably stored; none when enough is free. */
  #begin(id: string, want: number, mayPark: boolean): Promise<Begun> {
    return this.#record.updateAndServe<Begun>('claim', (state, { reserve, date }) => {
      if (state.stopped) throw this.#twoLedgers(state.stopped)
      const pages = pagesWithOffers(state, want)
      // guard: H12 pages are asked for their offers before a server is
      if (mayPark && pages.size > 0) return [state, { pages }]
      const { largest } = this.#tries
      const { state: next, ...begun } = beginClaim(state, id, want, reserve, date, largest)
      if (begun.claim?.id === id) this.#record.ownClaim = id
      return [next, begun]
    })
  }

  async #add(claim: DeviceClaim, grant: GrantedRange, want: number, isNew = true): Promise<void> {
    const { world } = this.#record.owner
    this.#checkIns.isAnswered = true
    const outcome = await this.#record.updateAndServe('claim', (state, { date }) =>
      granted(state, claim.id, grant, date, isNew ? () => world.newId() : undefined),
    )
    if (outcome === 'ask') {
      await this.#checkIns.ask(this.#record)
      return this.#add(claim, grant, want, false)
    }
    if ('stop' in outcome) throw this.#twoLedgers(outcome.stop)
    if ('error' in outcome) throw outcome.error
    this.#missing = want - outcome.free
  }
}

export const SWITCHED_OFF: Failure = {
  code: 'server-unreachable',
  isRepeated: true,
  message:
    'The app has switched the network off for offline-hilo. `hilo.goOnline()` switches it on.',
}
