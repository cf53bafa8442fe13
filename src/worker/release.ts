/**
 * Releases several collections at once, with few requests: those of one database are given back
 * together, while no check-in is under way.
 */
import { type Failure, toFailure } from '../core/errors.js'
import type { Answer } from '../device/contract.js'
import type { Exchange } from '../device/state.js'
import type { OwnedCollection } from './collection.js'
import { giveEverythingBack } from './give-back.js'
import type { CollectionRecord } from './record.js'

/** @returns one answer for each, in their order */
export async function release(
  collections: readonly OwnedCollection[],
  request: Pick<Exchange, 'page' | 'id'>,
  isCancelled: () => boolean,
): Promise<Answer<object>[]> {
  const begun = await Promise.all(collections.map((each) => each.beginRelease()))
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
