/** Calls that are rare and need the network anyway; a page loads them when they are made. */
import type { HeldCollection, Target } from '../core/contract.js'
import { fromFailure } from '../core/errors.js'
import type { OwnerLink } from './owner-link.js'

/**
 * Collections of this device that are none of `used`.
 * @throws HiloError
 */
export async function unusedCollections(
  link: OwnerLink,
  used: readonly Target[],
): Promise<HeldCollection[]> {
  const answer = await link.call('collections', [])
  if ('failure' in answer) throw fromFailure(answer.failure)
  return answer.collections.filter((stored) => !used.some((target) => isSame(stored, target)))
}

/** @throws HiloError */
export async function nextIdentity(
  link: OwnerLink,
  database: string,
  name: string,
  key: string,
): Promise<number> {
  const answer = await link.call('nextIdentity', [database, name, key])
  if ('failure' in answer) throw fromFailure(answer.failure)
  return answer.number
}

const isSame = (stored: HeldCollection, { database, collection, separator }: Target): boolean =>
  stored.database === database && stored.collection === collection && stored.separator === separator
