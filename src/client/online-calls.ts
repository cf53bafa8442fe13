/**
 * Calls that are rare and need the network anyway, so a page loads this file separately. Guarantees
 * that the device keeps a new reserve only if it was reached, and not after the call was cancelled.
 */
import type { fromFailure } from '../core/errors.js'
import type { CollectionRef } from '../core/names.js'
import type { onAbort } from '../core/on-abort.js'
import type { DeviceView, HeldCollection, Target } from '../device/contract.js'
import type { CallLimits } from '../device/hilo-options.js'
import { notReserved } from '../device/reserved.js'
import { type Checks, checkIdentityKey, type ReserveArgs, readReserve } from './call-args.js'
import type { Instance } from './instance.js'
import { limited } from './limited.js'
import type { PageLeases } from './page-leases.js'
import { release as releaseTogether, type Used } from './release.js'

export { giveBack } from './give-back.js'

/**
 * The instance that is called. It brings the modules that the page has already: this file imports
 * none of them, because bundlers would cut them out of the page's file.
 */
export interface Caller extends Checks {
  /** Of the call: checked, and a copy. */
  options: CallLimits
  instance: Instance
  PageLeases: typeof PageLeases
  fromFailure: typeof fromFailure
  onAbort: typeof onAbort
  newId(): string
  /** When it was called: its timeout begins before this file is loaded. */
  startedAt: number
}

/** @throws HiloError */
export async function reserve(caller: Caller, args: ReserveArgs): Promise<void> {
  const { instance, options, fromFailure } = caller
  const wanted = readReserve(args, caller).map(({ ref, count }) => ({
    pageLeases: instance.allocatorOf(ref, options.database).pageLeases,
    count,
  }))
  const meaning = 'What was claimed stays on this device.'
  return limited(caller, options, meaning, async (ended) => {
    await Promise.all(wanted.map(({ pageLeases }) => keepOffers(caller, pageLeases)))
    const call = caller.newId()
    const targets = wanted.map(({ pageLeases: { target }, count }) => ({ target, count }))
    const answers = await instance.link.call('reserve', [call, targets], { call, ended })
    await Promise.all(wanted.map(({ pageLeases }, i) => filledUp(pageLeases, answers[i]!.view)))
    const failure = notReserved(
      targets,
      answers.map(({ view, ...rest }) => ({ free: view.free, ...rest })),
    )
    if (failure) throw fromFailure(failure)
  })
}

/** Takes the page's offers back, so that they count as free numbers of the device. */
async function keepOffers({ fromFailure }: Caller, pageLeases: PageLeases): Promise<void> {
  const failure = pageLeases.offers.length > 0 && (await pageLeases.exchange(0, false))
  if (failure) throw fromFailure(failure)
}

/** Sets the new surplus aside. */
async function filledUp(pageLeases: PageLeases, view: DeviceView): Promise<void> {
  pageLeases.observe(view)
  if (pageLeases.hasSurplus()) await pageLeases.exchange(0)
}

/** @throws HiloError */
export async function release(
  caller: Caller,
  [ref]: readonly [collection: CollectionRef | undefined],
): Promise<void> {
  const { instance, options, fromFailure } = caller
  const one = ref === undefined ? undefined : instance.allocatorOf(ref, options.database)
  const meaning = 'What was not sent yet stays on this device.'
  return limited(caller, options, meaning, async (ended) => {
    const released = one ? [one] : await everyCollection(caller, options.database)
    ended.throwIfAborted()
    await releaseTogether(released, instance.context, fromFailure, ended)
  })
}

/**
 * Collections that the instance has used, and others of which the device holds numbers.
 * @param database only those of this one
 */
async function everyCollection(caller: Caller, database?: string): Promise<Used[]> {
  const { instance, PageLeases, fromFailure } = caller
  const answer = await instance.link.call('collections', [])
  if ('failure' in answer) throw fromFailure(answer.failure)
  const isMeant = (held: HeldCollection) => database === undefined || held.database === database
  const used = instance.allocators.filter(({ pageLeases }) => isMeant(pageLeases.target))
  const others = answer.collections.filter(
    (held) => isMeant(held) && !used.some(({ pageLeases }) => isSame(held, pageLeases.target)),
  )
  const unused = others.map(({ collection, database, separator }) => {
    const target = instance.targetOf(collection, database, separator)
    const context = { ...instance.context, changed() {}, dropped() {}, otherLedger() {} }
    return { pageLeases: new PageLeases(target, context) }
  })
  return [...used, ...unused]
}

/** @throws HiloError */
export async function startOver(caller: Caller): Promise<void> {
  const { instance, fromFailure } = caller
  const { database } = caller.options
  for (const { pageLeases, stock } of await everyCollection(caller, database)) {
    const answer = await instance.link.call('startOver', [pageLeases.target])
    pageLeases.observe(answer.view)
    if ('failure' in answer) throw fromFailure(answer.failure)
    stock?.retryNow()
  }
  for (const startOver of instance.startOvers) await startOver(database)
}

/** @throws HiloError */
export async function nextIdentity(
  caller: Caller,
  [collection]: readonly [collection: CollectionRef],
): Promise<number> {
  const { instance, options, newId, HiloError, fromFailure } = caller
  checkIdentityKey(options.key, caller)
  const { name, database } = instance.find(collection, options.database)
  if (instance.options.source) throw new HiloError('invalid-argument', NO_IDENTITIES)
  const meaning = 'A number may have been taken: ask again with the same key.'
  return limited(caller, options, meaning, async () => {
    const answer = await instance.link.call('nextIdentity', [
      database,
      name,
      options.key ?? newId(),
    ])
    if ('failure' in answer) throw fromFailure(answer.failure)
    return answer.number
  })
}

const NO_IDENTITIES =
  'Identities come from a HiLo server, and `source` has none. Use a Hilo without `source`.'

const isSame = (held: HeldCollection, { database, collection, separator }: Target): boolean =>
  held.database === database && held.collection === collection && held.separator === separator
