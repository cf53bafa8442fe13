/**
 * Gives every free number of a collection back to the server. Guarantees that the device removes a
 * range from its storage before it sends the range, that it sends each range once (H8), and that it
 * keeps all of them while the server cannot be reached.
 */
import { setAside, settle, surplus, takeBack } from '../core/device.js'
import { type Failure, toFailure } from '../core/errors.js'
import { nextStep } from '../core/failures.js'
import type { DeviceState, Exchange, Offer } from '../core/state.js'
import type { CollectionContext } from './context.js'

type Request = Pick<Exchange, 'page' | 'id'>

/** @returns why not everything was given back */
export async function giveEverythingBack(
  { owner, target, update }: CollectionContext,
  { page, id }: Request,
  isCancelled: () => boolean,
): Promise<Failure | undefined> {
  const { source } = owner
  if (!source.giveBack) return undefined
  // A worker may have died in this release: what it set aside and did not send comes back first.
  // guard: H16 a release that comes again sends the rest
  const withUnsent = (state: DeviceState) => settle(state, [{ exchange: id, takeBack: [] }])
  const isEmpty = await update((state) => [state, surplus(withUnsent(state), 0) === 0])
  // guard: H25 a release sends nothing for a collection without numbers
  if (isEmpty) return undefined
  const unreachable = await failureOf(source.reach?.(target))
  // guard: H25 a release that reaches nobody keeps everything
  if (unreachable) return unreachable
  if (isCancelled()) return CANCELLED
  const offers = await update((state) => {
    const aside = setAside(withUnsent(state), page, id, 0)
    return [aside.state, aside.offers]
  })
  /** What was not sent stays. */
  const stay = async (failure: Failure) => {
    const unsent = offers.map((each) => each.id)
    await update((state) => [takeBack(state, page, unsent), undefined])
    return failure
  }
  // Highest first: the server's counter can only step back from its end.
  for (const offer of offers.reverse()) {
    if (isCancelled()) return stay(CANCELLED)
    // From here on it counts as sent: after a crash nobody knows whether it was.
    const isAside = await update((state) => [
      settle(state, [sentNote(offer)]),
      // guard: H8 a release sends what is still set aside
      state.offers.some(({ id, isSent }) => id === offer.id && !isSent),
    ])
    if (!isAside) continue
    const failure = await failureOf(source.giveBack(target, offer.range))
    if (failure && nextStep(failure) === 'same') return stay(failure)
  }
  return undefined
}

/** No caller sees it: the call was rejected when it was cancelled. */
export const CANCELLED: Failure = { code: 'aborted', message: '' }

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
