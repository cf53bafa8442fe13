/**
 * Releases collections: every free number goes back to the server, with few requests, those of one
 * database together and while no check-in is under way. Guarantees that a range leaves the device's
 * storage before it is sent, and is sent once (H8). While the server cannot be reached, the device
 * keeps all of them.
 */
import { type Failure, toFailure } from '../core/errors.js'
import { nextStep } from '../core/failures.js'
import { MOST_TOKENS } from '../core/wire.js'
import type { Answer } from '../device/contract.js'
import { setAside, settle, surplus, takeBack } from '../device/device.js'
import type { DeviceState, Exchange, Offer } from '../device/state.js'
import { CANCELLED } from './claims.js'
import type { OwnedCollection } from './collection.js'
import type { CollectionRecord } from './record.js'

type Request = Pick<Exchange, 'page' | 'id'>

/** A range that is set aside to go back. */
interface Piece {
  record: CollectionRecord
  offer: Offer
}

/** @returns one answer for each, in their order */
export async function release(
  collections: readonly OwnedCollection[],
  request: Request,
  isCancelled: () => boolean,
  isClosing?: boolean,
): Promise<Answer<object>[]> {
  const begun = await Promise.all(collections.map((each) => each.beginRelease(isClosing)))
  const ready = collections.filter((_, i) => !('failure' in begun[i]!))
  const failures = new Map<CollectionRecord, Failure>()
  const databases = [...new Set(ready.map(({ checkIns }) => checkIns))]
  const given = databases.map(async (checkIns) => {
    const records = ready.filter((each) => each.checkIns === checkIns).map(({ record }) => record)
    const give = () => giveEverythingBack(records, request, isCancelled, failures)
    try {
      await records[0]!.owner.run(checkIns.apart(give))
    } catch (error) {
      for (const each of records) failures.set(each, toFailure(error, 'storage-failed'))
    }
    checkIns.retryNow()
  })
  await Promise.all(given)
  return Promise.all(
    collections.map((each, i) =>
      ready.includes(each) ? each.endRelease(failures.get(each.record)) : begun[i]!,
    ),
  )
}

/**
 * @param records of one database
 * @param failures gets why not everything of a collection was given back
 */
async function giveEverythingBack(
  records: readonly CollectionRecord[],
  { page, id }: Request,
  isCancelled: () => boolean,
  failures: Map<CollectionRecord, Failure>,
): Promise<void> {
  const { source } = records[0]!.owner
  if (!source.giveBack) return
  // A worker may have died in this release: numbers that it set aside and did not send come back
  // first.
  // guard: H16 a release that comes again sends the rest
  const withUnsent = (state: DeviceState) => settle(state, [{ exchange: id, takeBack: [] }])

  /** Those that are given back in common requests, and each of the others. */
  async function groups(): Promise<CollectionRecord[][]> {
    const together: CollectionRecord[] = []
    const alone: CollectionRecord[][] = []
    const look = async (record: CollectionRecord) => {
      const { isEmpty, haveTokens } = await record.update((state) => {
        const { ranges } = withUnsent(state)
        const isEmpty = surplus(withUnsent(state), 0) === 0
        return [state, { isEmpty, haveTokens: ranges.every(({ token }) => token !== undefined) }]
      })
      // guard: H25 a release sends nothing for a collection without numbers
      if (isEmpty) return
      if (haveTokens && source.giveBackTogether) together.push(record)
      else alone.push([record])
    }
    await Promise.all(records.map(look))
    return [together, ...alone]
  }

  /** Those whose numbers the server would take back now: it is asked once. */
  async function reached(group: CollectionRecord[]): Promise<CollectionRecord[]> {
    for (const [i, record] of group.entries()) {
      const rest = group.slice(i)
      const failure = (await failureOf(source.reach?.(record.target))) ?? cancelled()
      if (!failure) return rest
      // It may refuse one collection, and take another one back.
      const isRefusal = failure.code === 'server-refused' && nextStep(failure) !== 'same'
      // guard: H25 a release that reaches nobody keeps everything
      for (const each of isRefusal ? [record] : rest) failures.set(each, failure)
      if (!isRefusal) return []
    }
    return []
  }

  async function setAllAside(group: readonly CollectionRecord[]): Promise<Piece[]> {
    const pieces = group.map(async (record) => {
      const offers = await record.update((state) => {
        const aside = setAside(withUnsent(state), page, id, 0)
        return [aside.state, aside.offers]
      })
      // Highest first: the server's counter can only step back from its end.
      return offers.reverse().map((offer) => ({ record, offer }))
    })
    return (await Promise.all(pieces)).flat()
  }

  /** From here on these count as sent: after a crash nobody knows whether they were. */
  async function markSent(pieces: readonly Piece[]): Promise<Piece[]> {
    const marked = pieces.map(({ record, offer }) =>
      record.update((state) => [
        settle(state, [sentNote(offer)]),
        // guard: H8 a release sends what is still set aside
        state.offers.some(({ id, isSent }) => id === offer.id && !isSent),
      ]),
    )
    const isAside = await Promise.all(marked)
    return pieces.filter((_, i) => isAside[i])
  }

  async function send(pieces: readonly Piece[]): Promise<Failure | undefined> {
    const ranges = pieces.map(({ record: { target }, offer: { range } }) => ({ target, range }))
    if (ranges.length > 1) {
      const failure = await failureOf(source.giveBackTogether!(ranges))
      if (!failure || nextStep(failure) === 'same') return failure
    }
    // With its token, a range that has come back already does not come back twice.
    for (const { target, range } of ranges) {
      const failure = await failureOf(source.giveBack!(target, range))
      if (failure && nextStep(failure) === 'same') return failure
    }
    return undefined
  }

  /** Pieces that were not sent stay. */
  async function stay(pieces: readonly Piece[], failure: Failure): Promise<void> {
    const taken = pieces.map(({ record, offer }) => {
      failures.set(record, failure)
      return record.update((state) => [takeBack(state, page, [offer.id]), undefined])
    })
    await Promise.all(taken)
  }

  const cancelled = () => (isCancelled() ? CANCELLED : undefined)

  const given = (await groups()).map(async (group, i) => {
    const pieces = await setAllAside(await reached(group))
    const most = i === 0 ? MOST_TOKENS : 1
    for (let at = 0; at < pieces.length; at += most) {
      const failure = cancelled() ?? (await send(await markSent(pieces.slice(at, at + most))))
      if (failure) return stay(pieces.slice(at), failure)
    }
  })
  await Promise.all(given)
}

const sentNote = ({ id, range }: Offer) => ({
  lease: id,
  next: range.from,
  givenBack: true as const,
})

const failureOf = (work: Promise<unknown> | undefined): Promise<Failure | undefined> =>
  Promise.resolve(work).then(
    () => undefined,
    (error) => toFailure(error, 'server-unreachable'),
  )
