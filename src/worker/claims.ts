/**
 * The claims of one collection: one at a time, repeated after a failure, and safe to lose at any
 * point, because a claim's id is stored before it is first sent (H11).
 */
import { type Failure, type HeardLedger, type HiloError, toFailure } from '../core/errors.js'
import { isRepeated, nextStep } from '../core/failures.js'
import { beginClaim, dropClaim } from '../device/claim.js'
import { granted, refused, type Tries } from '../device/owner/claiming.js'
import { goOn } from '../device/sizes.js'
import type { DeviceClaim, GrantedRange, Stop } from '../device/state.js'
import { hear, ledgersDiffer } from '../device/which-ledger.js'
import { pagesWithOffers } from '../device/write-off.js'
import type { CheckIns } from './check-ins.js'
import type { Begun, ClaimRequests, Sent } from './claim-requests.js'
import type { CollectionRecord } from './record.js'
import { newRetry } from './retry.js'

/** @param requests of the collection's database, as `checkIns` are */
export function newClaims(record: CollectionRecord, requests: ClaimRequests, checkIns: CheckIns) {
  const { owner, target, name } = record
  const { source, world } = owner
  const retry = newRetry(owner, 1_000, 60_000)
  let flight: Promise<Failure | undefined> | undefined
  /** How many of the wanted numbers the last grant lacked. */
  let missing = 0
  let tries: Tries = { isFirst: true, largest: undefined }

  /**
   * Asks the server once, unless `want` numbers are free. A caller that asks while a claim is under
   * way gets the outcome of that one.
   */
  function ask(want: number): Promise<Failure | undefined> {
    if (!owner.isOnline()) return Promise.resolve(SWITCHED_OFF)
    const pausedBy = retry.pausedBy()
    if (pausedBy && !flight) {
      // guard: H16 who is told that a claim is repeated waits for one, also after a release
      if (pausedBy.isRepeated) retry.resume(() => askInBackground(want))
      return Promise.resolve(pausedBy)
    }
    flight ??= start(want).finally(() => {
      record.isClaiming = false
      flight = undefined
    })
    return flight
  }

  function askInBackground(want: number): void {
    if (flight || owner.signal.aborted || !owner.isOnline()) return
    const ended = (failure: Failure | undefined) => {
      const { shared } = record
      const more = goOn(shared, failure ? 0 : missing, record.filledTo(shared.reserve))
      if (more > 0) askInBackground(more)
      record.notify()
    }
    void owner.run(ask(want).then(ended))
    record.notify()
  }

  async function start(want: number): Promise<Failure | undefined> {
    record.isClaiming = true
    retry.cancel()
    try {
      await claimInTurn(want)
      retry.succeeded()
      record.failure = undefined
    } catch (error) {
      const failure = await owner.explained(toFailure(error, 'storage-failed'))
      record.failure = isRepeated(failure) ? { ...failure, isRepeated: true } : failure
      retry.failed(record.failure, () => askInBackground(want))
    }
    return record.failure
  }

  /**
   * Another tab may send the same stored claim, and use the grant before this one is answered. So
   * one tab at a time claims for a collection. Nobody waits here for the lock of another one.
   */
  async function claimInTurn(want: number): Promise<void> {
    const isAlone = () => source.isPlain?.(target.database) ?? true
    if (!isAlone()) requests.open()
    // guard: H18 one tab at a time claims for a collection
    await world.lock(`offline-hilo ${name} claim`, async () => {
      if (!isAlone())
        try {
          return await claim(want, false)
        } catch (error) {
          const { code } = error as HiloError
          // Another collection may have learnt meanwhile that this is a RavenDB.
          // guard: H25 only a claim that was refused is made by another route
          if (!isAlone() || code !== 'server-refused') throw error
        }
      await claim(want, true)
    })
  }

  async function claim(want: number, isAlone: boolean): Promise<void> {
    tries = { ...tries, isFirst: retry.failures() === 0 }
    for (;;) {
      const { claim, grant } = await send(want, isAlone)
      // Without a claim there are enough numbers: other tabs claimed or parked some.
      missing = 0
      if (!claim || !grant) return
      try {
        return await add(claim, await grant, want)
      } catch (error) {
        const failure = toFailure(error, 'storage-failed')
        const { ledger } = failure
        const follows = ledger && claim.ledgers?.[ledger.tag]
        if (ledger && (await goesOn({ ...ledger, follows }))) continue
        const step = nextStep(failure)
        if (step === 'same' || step === 'stop') throw error
        // guard: H25 a claim that is refused for good is forgotten
        const isOurs = await record.update((state) => [
          dropClaim(state, claim.id),
          state.claim?.id === claim.id,
        ])
        // A check-in shows its token now.
        if (claim.shown) void checkIns.ask(record)
        const [next, isAgain] = refused(tries, step, claim.lastBatchSize, isOurs)
        tries = next
        if (!isAgain) throw error
      }
    }
  }

  /**
   * @returns whether the device goes on with that ledger
   * @throws HiloError when it does not, and stops
   */
  async function goesOn(heard: HeardLedger): Promise<boolean> {
    const { stopped, isNew } = await record.update((state, { date }) => {
      // guard: H34 a claim that another ledger refuses is heard
      const next = hear(state, heard, date)
      return [next, { stopped: next.stopped, isNew: next.followed !== state.followed }]
    })
    if (!stopped) return isNew
    // The check-in is refused, too, and all collections of the database hear why.
    void checkIns.ask(record)
    throw twoLedgers(stopped)
  }

  /** Why nothing is claimed, where two ledgers have answered. */
  const twoLedgers = (stop: Stop) => ledgersDiffer(owner.url, target.database, stop)

  /**
   * It first asks other pages of this device to park the surplus that they were to give back: they
   * are nearer than the server.
   */
  async function send(want: number, isAlone: boolean): Promise<Sent> {
    for (let mayPark = true; ; mayPark = false) {
      const sent = await requests.claim(target, (id) => begin(id, want, mayPark), isAlone)
      if (!sent.pages) return sent
      await owner.tabs?.askToPark(name, sent.pages)
    }
  }

  /** The claim to send, durably stored; none when enough is free. */
  function begin(id: string, want: number, mayPark: boolean): Promise<Begun> {
    const ledgers = owner.ledgersInUse(target.database)
    return record.updateAndServe<Begun>('claim', (state, { reserve, date }) => {
      if (state.stopped) throw twoLedgers(state.stopped)
      const pages = pagesWithOffers(state, want)
      // guard: H12 pages are asked for their offers before a server is
      if (mayPark && pages.size > 0) return [state, { pages }]
      // guard: H34 a collection that is new here is of the ledger of the others
      const known = ledgers && !state.ledgers ? { ...state, ledgers } : state
      const begun = beginClaim(known, id, want, reserve, date, tries.largest)
      if (begun.claim?.id === id) record.ownClaim = id
      return [begun.state, begun]
    })
  }

  async function add(claim: DeviceClaim, grant: GrantedRange, want: number, isNew = true) {
    checkIns.isAnswered = true
    const outcome = await record.updateAndServe('claim', (state, { date }) =>
      granted(state, claim.id, grant, date, isNew ? () => world.newId() : undefined),
    )
    if (outcome === 'ask') {
      await checkIns.ask(record)
      return add(claim, grant, want, false)
    }
    if ('stop' in outcome) throw twoLedgers(outcome.stop)
    if ('error' in outcome) throw outcome.error
    missing = want - outcome.free
  }

  return {
    ask,
    askInBackground,
    /** The server asked for a pause, or has just not answered. */
    isPaused: () => retry.pausedBy() !== undefined,
    /** The network may be back: a claim that failed is sent again now. */
    retryNow: retry.now,
    /** Resolves when nothing is under way, and nothing is repeated any more. */
    async finish(): Promise<void> {
      await flight
      retry.cancel()
    },
  }
}

export const SWITCHED_OFF: Failure = {
  code: 'server-unreachable',
  isRepeated: true,
  message:
    'The app has switched the network off for offline-hilo. `hilo.goOnline()` switches it on.',
}

/** No caller sees it: the call was rejected when it was cancelled. */
export const CANCELLED: Failure = { code: 'aborted', message: '' }
