/**
 * Checks in for the collections of one database: at the start, soon after numbers were leased, and
 * every few hours. It does so in the background, in one tab at a time, for all collections in one
 * request. Guarantees that an answer is applied once.
 */
import { type HeardLedger, HiloError, toFailure } from '../core/errors.js'
import { isNoAnswer, isRepeated } from '../core/failures.js'
import { type CheckInRequest, MOST_TOKENS } from '../core/wire.js'
import { applyCheckIn, beginCheckIn, isCheckInDue } from '../device/check-in.js'
import type { Surroundings } from '../device/owner/lease.js'
import type { DeviceState } from '../device/state.js'
import { hear } from '../device/which-ledger.js'
import type { OwnerContext } from './context.js'
import type { CollectionRecord } from './record.js'
import { newRetry } from './retry.js'

/** A longer interval spares the server requests, and notices a copy of this device later. */
const INTERVAL_MS = 3 * 60 * 60 * 1000
/** Collections that are used together are told together. */
const SOON_MS = 250

interface Begun {
  record: CollectionRecord
  request: CheckInRequest
}

export type CheckIns = ReturnType<typeof newCheckIns>

/** @param name of the database, on this device */
export function newCheckIns(owner: OwnerContext, name: string) {
  const { world } = owner
  // Longer than a claim's: nobody waits for a check-in.
  const retry = newRetry(owner, 60_000, 60 * 60 * 1000)
  const members = new Set<CollectionRecord>()
  const started = new Set<CollectionRecord>()
  /** The collections that the check-in under way looks at. */
  let covered: ReadonlySet<CollectionRecord> = new Set()
  let flight: Promise<void> | undefined
  /** Work that no check-in may run beside. */
  const beside = new Set<Promise<unknown>>()
  /** Ids of check-ins that this owner began, and that were not answered. */
  const own = new Set<string>()
  /** Cancels the report that is planned. */
  let report: (() => void) | undefined

  /** Numbers were leased: the server hears of it soon. */
  function planReport(): void {
    // A report that has failed is sent again later, with all that was used until then.
    if (report || flight || retry.failures() > 0) return
    const waits = reports()
    if (waits.length === 0) return
    // guard: H32 the server hears of use
    report = owner.after(Math.max(SOON_MS, ...waits), retryNow)
  }

  /** In how many milliseconds the server should hear of new leases, by collection. */
  const reports = () => [...members].flatMap((each) => each.reportIn ?? [])

  const plan = () => retry.plan(INTERVAL_MS, retryNow)

  /** Checks in now, if there is something to ask and the server did not ask for a pause. */
  function retryNow(): void {
    if (started.size === 0 || retry.pausedBy() || owner.signal.aborted || !owner.isOnline()) return
    flight ??= owner.run(run())
  }

  async function run(): Promise<void> {
    retry.cancel()
    report?.()
    report = undefined
    await Promise.allSettled(beside)
    covered = new Set(members)
    try {
      await world.lock(`offline-hilo ${name} check-in`, () => checkIn(covered))
      retry.succeeded()
      plan()
    } catch (error) {
      plan()
      const failure = toFailure(error, 'storage-failed')
      // guard: H29 what the server refuses to hear is told less and less often
      const isAgain = isRepeated(failure) || reports().length > 0
      retry.failed(failure, retryNow, isAgain)
    }
    covered = new Set()
    flight = undefined
    // Some were leased meanwhile.
    planReport()
  }

  /**
   * @param isForced also when there is nothing new to ask
   * @throws HiloError as a request that failed, also when a claim that shows a token is in the way
   */
  async function checkIn(records: Iterable<CollectionRecord>, isForced = false): Promise<void> {
    const id = world.newId()
    const begun: Begun[] = []
    let isClaimUnderWay = false
    for (const record of records) {
      const { request, isLater } = await record.update((state, { date }) => {
        // guard: H19 no clock says that a start need not ask
        const isStart = record.asks(state)
        const isDue = isForced || isStart || isCheckInDue(state, date)
        const begun: ReturnType<typeof beginCheckIn> = isDue ? beginCheckIn(state, id) : { state }
        return [begun.state, begun]
      })
      isClaimUnderWay ||= isLater === true
      if (request) begun.push({ record, request })
    }
    if (begun.some(({ request }) => request.id === id)) own.add(id)
    const isOwn = ({ request }: Begun) => own.has(request.id)
    const others = begun.filter((each) => !isOwn(each))
    for (const together of requestsOf(begun)) await send(together, isOwn(together[0]!))
    // An earlier owner began these check-ins. A copy of this storage may send the same ones and
    // gets the same answers. A new check-in tells the two apart (H13).
    // guard: H13 a check-in that an earlier session began is followed by a new one
    if (others.length > 0)
      await checkIn(
        others.map(({ record }) => record),
        true,
      )
    // It may wait until the user signs in again.
    // guard: H29 a page looks less and less often after a claim that waits
    if (isClaimUnderWay) throw new HiloError('server-unreachable', 'A claim is under way.')
  }

  /**
   * After a failure the same is sent again, until it is answered. The server may have replaced the
   * tokens, also when a refusal comes: its answer may have been lost before.
   * @param isOwn did this owner begin it? Only then does the answer serve the pages that wait for
   * it
   */
  async function send(together: readonly Begun[], isOwn: boolean): Promise<void> {
    const [{ record: first, request }] = together as [Begun]
    const { id, ledgers } = request
    const asked = owner.source.checkIn!(first.target, {
      id,
      grants: together.flatMap(({ request: { grants } }) => grants),
      spent: together.flatMap(({ request: { spent = [] } }) => spent),
      ...(ledgers && { ledgers }),
    })
    const answer = await asked.catch(async (error: HiloError) => {
      if (isNoAnswer(toFailure(error, 'server-unreachable'))) hearNothing()
      if (error.ledger) await hearAll({ ...error.ledger, follows: ledgers?.[error.ledger.tag] })
      throw error
    })
    checkIns.isAnswered = true
    let at = 0
    const updates = together.map(async ({ record, request }) => {
      const grants = answer.grants.slice(at, at + request.grants.length)
      at += request.grants.length
      const heard = { name: answer.ledger, tag: answer.serverTag ?? '' }
      const date = isOwn ? world.date() : undefined
      const event = (before: DeviceState, around: Surroundings): [DeviceState, void] => {
        const state = hear(before, heard, around.date)
        return [applyCheckIn(state, request.id, { grants }, date), undefined]
      }
      // guard: H32 who waits is not served by the answer to a repetition
      await (isOwn ? record.updateAndServe('check-in', event) : record.update(event))
      record.notify()
    })
    await Promise.all(updates)
    own.delete(request.id)
  }

  /** Pages send nothing to a server that does not answer. */
  function hearNothing(): void {
    if (!checkIns.isAnswered) return
    checkIns.isAnswered = false
    for (const each of members) each.notify()
  }

  /** One answer's ledger counts in all collections of the database. */
  async function hearAll(heard: HeardLedger): Promise<void> {
    for (const record of members) {
      // guard: H34 a check-in that another ledger refuses is heard
      await record.update((state, { date }) => [hear(state, heard, date), undefined])
      record.notify()
    }
  }

  const checkIns = {
    /** Did the last check-in get an answer, or a request after it? */
    isAnswered: true,
    join: (record: CollectionRecord) => members.add(record),
    planReport,
    retryNow,

    /**
     * @param isDue is there something to ask? If not, the device checks in after the interval: it
     * holds no tokens yet, or has just got new ones.
     */
    start(record: CollectionRecord, isDue: boolean): void {
      if (started.has(record)) return
      const isFirst = started.size === 0
      started.add(record)
      if (isDue) retryNow()
      else if (isFirst && !flight) plan()
    },

    /** The page goes: a report that is planned is sent now. */
    reportNow(): void {
      if (report) retryNow()
    },

    /** Only a pause that the server itself asked for goes on. */
    networkMayBeBack(): void {
      retry.now()
      retryNow()
    },

    /** Checks in now. Resolves when this collection was answered, or the request has failed. */
    async ask(record: CollectionRecord): Promise<void> {
      started.add(record)
      if (!covered.has(record)) await flight
      retryNow()
      await flight
    },

    /**
     * Runs `work` while no check-in is under way: the server would ignore a give-back under a token
     * that a check-in has just replaced.
     */
    async apart<T>(work: () => Promise<T>): Promise<T> {
      while (flight) await flight
      const done = work()
      beside.add(done)
      try {
        return await done
      } finally {
        beside.delete(done)
      }
    },

    /** Resolves when none is under way. */
    async idle(): Promise<void> {
      while (flight) await flight
    },
  }
  return checkIns
}

/**
 * Check-ins with one id and the same ledgers go together, as long as the server takes so many
 * tokens at once.
 */
function requestsOf(begun: readonly Begun[]): Begun[][] {
  const requests: Begun[][] = []
  const tokens = ({ grants, spent = [] }: CheckInRequest) => grants.length + spent.length
  for (const one of begun) {
    const fitting = requests.find(
      (all) =>
        all[0]!.request.id === one.request.id &&
        JSON.stringify(all[0]!.request.ledgers) === JSON.stringify(one.request.ledgers) &&
        all.reduce((sum, { request }) => sum + tokens(request), tokens(one.request)) <= MOST_TOKENS,
    )
    if (fitting) fitting.push(one)
    else requests.push([one])
  }
  return requests
}
