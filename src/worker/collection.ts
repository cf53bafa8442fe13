/**
 * The calls of a page about one collection, and the consequences of each: a claim, a check-in, a
 * search for pages that were killed.
 */
import { type Failure, toFailure } from '../core/errors.js'
import { total } from '../core/range.js'
import { claimsFirst } from '../device/check-in.js'
import type { Answer, OwnerCallbacks, Target } from '../device/contract.js'
import { type Given, lease } from '../device/owner/lease.js'
import { ended, wanted } from '../device/owner/start.js'
import { unwanted } from '../device/owner/waiting.js'
import { asked, filled, withoutReserve } from '../device/reserve.js'
import { enough, topUp as wantedInAdvance } from '../device/sizes.js'
import type { DeviceState, Exchange, Exchanged } from '../device/state.js'
import { startOver } from '../device/which-ledger.js'
import { pagesOf, writeOffPages } from '../device/write-off.js'
import type { StoreKey } from '../store/store.js'
import type { CheckIns } from './check-ins.js'
import type { ClaimRequests } from './claim-requests.js'
import { CANCELLED, newClaims, SWITCHED_OFF } from './claims.js'
import type { OwnerContext } from './context.js'
import { newDeadPages } from './dead-pages.js'
import { CollectionRecord } from './record.js'

/** A device that starts waits no longer for the server before it goes on as offline. */
const ASK_MS = 1_000

export type OwnedCollection = ReturnType<typeof newCollection>

/** @param checkIns of the collection's database, as `requests` are */
export function newCollection(
  owner: OwnerContext,
  key: StoreKey,
  target: Target,
  callbacks: OwnerCallbacks,
  checkIns: CheckIns,
  requests: ClaimRequests,
) {
  const record = new CollectionRecord(owner, key, target, callbacks, checkIns)
  const { waiting, fillings } = record
  const claims = newClaims(record, requests, checkIns)
  checkIns.join(record)
  const deadPages = newDeadPages(owner, async (dead) => {
    const holders = await record.update((before) => {
      const state = writeOffPages(before, dead())
      return [state, pagesOf(state)]
    })
    record.notify()
    if (dead().size > 0) checkIns.retryNow()
    return holders
  })
  /** Nothing is leased before it resolves: the server is asked whether this device is a copy. */
  let asking: Promise<void> | undefined

  async function answer<T>(work: () => Promise<T | { failure: Failure }>): Promise<Answer<T>> {
    try {
      const result = await owner.run(work())
      return { view: record.view(), ...result }
    } catch (error) {
      return { view: record.view(), failure: toFailure(error, 'storage-failed') }
    }
  }

  const parkExcess = () => callbacks.parkExcess(target)

  async function untilOpen(): Promise<void> {
    await owner.store
    await owner.world.untilOpen()
  }

  /** Moves the numbers from memory into the storage. If it fails, the next transaction does. */
  async function move(): Promise<void> {
    await record.update((state) => [{ ...state }, undefined])
    record.notify()
    checkIns.retryNow()
    // In memory nothing was kept, so the page holds all of it, ready to be given back.
    await parkExcess()
  }

  /** A claim that fails is repeated later. */
  function topUp(unmet = 0): void {
    const want = wantedInAdvance(record.shared, record.inMemory, unmet)
    if (want > 0 && !claims.isPaused()) claims.askInBackground(want)
  }

  /** No caller waits, so it looks first whether a check-in or killed pages bring numbers back. */
  async function topUpInAdvance(): Promise<void> {
    await deadPages.idle()
    await checkIns.idle()
    topUp()
  }

  async function exchange(request: Exchange): Promise<Exchanged> {
    waiting.cancel(request.notes)
    const waiter = waiting.add(request, 'turn')
    try {
      await owner.store
      if (request.want > 0) await asking
      // guard: H4 a page that has gone is leased nothing by an exchange that comes to its turn late
      const now = () => (owner.signal.aborted ? unwanted(waiter.request) : waiter.request)
      const given = await record.update<Given | boolean>((state, around) =>
        waits(now()) ? [state, claimsFirst(state)] : lease(state, now(), around),
      )
      return typeof given === 'object' ? give(request, given) : askFirst(waiter.request, given)
    } finally {
      waiting.remove(waiter)
    }
  }

  function waits({ want }: Exchange): boolean {
    if (want === 0) return false
    const [start, waits] = wanted(record.start, owner.isOnline())
    record.start = start
    // guard: H32 nothing is leased to any page before the answer
    return waits
  }

  /**
   * A device that starts may be a copy, or may have gone back: it asks the server before it leases
   * stored numbers. The step that stores the answer also leases.
   * @param isClaimed a claim of an earlier session goes before
   */
  async function askFirst(request: Exchange, isClaimed: boolean): Promise<Exchanged> {
    const waiter = waiting.add(request, 'check-in')
    const served = new Promise<void>((resolve) => {
      waiter.served = resolve
    })
    asking ??= ask(isClaimed)
    await Promise.race([served, asking])
    waiting.remove(waiter)
    return waiter.given ? give(request, waiter.given) : exchange(waiter.request)
  }

  /** Resolves when the server has said whether this device is a copy, or a second has passed. */
  async function ask(isClaimed: boolean): Promise<void> {
    // The page has yet to hear of numbers that are lost to a copy now.
    record.notify()
    let cancel = () => {}
    const late = new Promise<void>((resolve) => {
      // guard: H32 a server that does not answer is not waited for
      cancel = owner.after(ASK_MS, resolve)
    })
    await Promise.race([late, checkInFirst(isClaimed).catch(() => {})])
    cancel()
    record.start = ended(record.start)
  }

  async function checkInFirst(isClaimed: boolean): Promise<void> {
    // guard: H32 a claim of an earlier session does not hide a copy
    if (isClaimed) await claims.ask(0)
    await checkIns.ask(record)
  }

  /**
   * The transaction is complete. Now that the device has fewer numbers, it may claim or check in.
   */
  function give(request: Exchange, { pages, isDue, ...given }: Given): Exchanged {
    const unmet = request.want - total(given.leases.map(({ range }) => range))
    if (unmet > 0) topUp(unmet)
    checkIns.start(record, isDue)
    checkIns.planReport()
    pages.delete(request.page)
    deadPages.search(pages)
    // guard: H25 a page that asks for no number makes no claim
    if (request.want > 0 && unmet <= 0) void owner.run(topUpInAdvance())
    return given
  }

  /**
   * Asks the device's other pages to park numbers that they do not need.
   * @returns whether there is something to lease now
   */
  async function gather(): Promise<boolean> {
    const holders = await record.update((state) => [state, pagesOf(state)])
    if (!(await owner.tabs?.askToPark(record.name, holders))) return false
    return record.update((state) => [state, !state.stopped && state.ranges.length > 0])
  }

  /** @returns why there is nothing to lease, neither from the server nor from another page */
  async function claimed(want: number): Promise<{ failure: Failure } | undefined> {
    const failure = await claims.ask(want)
    return failure && !(await gather()) ? { failure } : undefined
  }

  return {
    record,
    checkIns,
    parkExcess,
    exchange: (request: Exchange) => answer(() => exchange(request)),

    claim: (want: number, request?: Exchange): Promise<Answer<Exchanged>> =>
      answer(async () => {
        if (!request) return (await claimed(want)) ?? NOTHING
        const waiter = waiting.add(request, 'claim')
        try {
          const refusal = await claimed(enough(want, record.shared.reserve))
          if (waiter.given) return give(waiter.request, waiter.given)
          return refusal ?? exchange(waiter.request)
        } finally {
          // Until now its page may have cancelled it, also while other pages were asked to park.
          waiting.remove(waiter)
        }
      }),

    reserve: (count: number, isCancelled: () => boolean): Promise<Answer<object>> =>
      answer(async () => {
        // guard: H35 what is reserved is stored
        await untilOpen()
        fillings.push(count)
        try {
          const isFilled = () =>
            record.update((state) => (isCancelled() ? [state, false] : filled(state, count)))
          while (!(await isFilled())) {
            if (isCancelled()) return { failure: CANCELLED }
            const failure = await claims.ask(count)
            if (failure) return { failure }
          }
          return {}
        } finally {
          fillings.splice(fillings.indexOf(count), 1)
        }
      }),

    /** Once it has resolved, nothing is claimed any more. */
    beginRelease: (isClosing?: boolean): Promise<Answer<object>> =>
      answer(async () => {
        if (!owner.isOnline()) return { failure: SWITCHED_OFF }
        if (isClosing) owner.world.stayInMemory?.()
        else await untilOpen()
        const isKept = await record.update((state, { keep }) => {
          // guard: H36 a page that closes gives back nothing that the device keeps
          if (isClosing && keep > 0) return [state, true]
          // guard: H25 all tabs know that everything was released
          return [{ ...state, isReleased: true }, false]
        })
        if (isKept) return { failure: CANCELLED }
        await claims.finish()
        return {}
      }),

    /** @param failure why not everything was given back */
    endRelease: (failure: Failure | undefined): Promise<Answer<object>> =>
      answer(async () => {
        if (!failure) record.failure = undefined
        const end = failure ? asked : withoutReserve
        await record.update((state) => [end(state), undefined])
        return failure ? { failure } : {}
      }),

    startOver: (): Promise<Answer<object>> =>
      answer(async () => {
        const now = owner.world.date()
        await untilOpen()
        const states = await owner.statesOf(target.database)
        const stops = states.flatMap(({ stopped, followed }) => stopped ?? followed ?? [])
        await record.update((state) => [startOver(state, now, stops), undefined])
        record.failure = undefined
        record.notify()
        return {}
      }),

    /** Until now, ids were in memory. The stored state is used now, as at a start. */
    openedLate(): void {
      // guard: H35 a storage that opens late may be a copy: the server is asked first
      record.start = 'open'
      record.notify()
      void owner.run(move())
    },

    inspect: (): Promise<Answer<{ state: DeviceState }>> =>
      answer(async () => ({ state: await record.read() })),

    /** The network may be back: failed requests are sent again now. */
    retryNow(): void {
      claims.retryNow()
      checkIns.networkMayBeBack()
      void owner.run(topUpInAdvance())
      record.notify()
    },
  }
}

const NOTHING: Exchanged = { leases: [], offers: [], outstanding: [] }
