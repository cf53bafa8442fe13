/**
 * Releases several collections at once, with few requests: those of one database are given back
 * together, while no check-in is under way.
 */

import { type Failure, toFailure } from '../core/errors.js'
import type { Answer } from '../device/contract.js'
import type { Exchange } from '../device/state.js'
import type { OwnedCollection } from './collection.js'
import type { CollectionContext } from './context.js'
import { giveEverythingBack } from './give-back.js'

/** @returns one answer for each, in their order */
export async function release(
  collections: readonly OwnedCollection[],
  request: Pick<Exchange, 'page' | 'id'>,
  isCancelled: () => boolean,
): Promise<Answer<object>[]> {
  const begun = await Promise.all(collections.map((each) => each.beginRelease()))
  const ready = collections.filter((_, i) => !('failure' in begun[i]!))
  const failures = new Map<CollectionContext, Failure>()
  const databases = [...new Set(ready.map(({ checkIns }) => checkIns))]
  const given = databases.map(async (checkIns) => {
    const contexts = ready.filter((each) => each.checkIns === checkIns).map((each) => each.context)
    const give = () => giveEverythingBack(contexts, request, isCancelled, failures)
    try {
      await contexts[0]!.owner.run(checkIns.apart(give))
    } catch (error) {
      for (const each of contexts) failures.set(each, toFailure(error, 'storage-failed'))
    }
    checkIns.retryNow()
  })
  await Promise.all(given)
  return Promise.all(
    collections.map((each, i) =>
      ready.includes(each) ? each.endRelease(failures.get(each.context)) : begun[i]!,
    ),
  )
}
