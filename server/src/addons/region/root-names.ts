/**
 * By which names a region's devices know its root (H34): the region answers with the name that its
 * own device has heard. Guarantees that a region whose root became another ledger grants nothing.
 */

import type { Failure } from '../../../../src/core/errors.js'
import type { CheckInRequest } from '../../../../src/core/wire.js'
import type { OwnerCallbacks } from '../../../../src/device/contract.js'
import type { DeviceStore, StoreKey } from '../../../../src/device/device-store.js'
import { type DeviceState, emptyState } from '../../../../src/device/state.js'
import { readState } from '../../../../src/device/stored.js'
import { keyText, normalized } from '../../ledger/collections.js'
import type {
  CheckIn,
  ClaimOutcome,
  ClaimRequest,
  CollectionKey,
  Ledger,
  LedgerNames,
  OtherLedger,
} from '../../ledger/ledger.js'
import { CounterUnusable } from '../../ledger/ledger-errors.js'
import { otherLedger, within } from '../../ledger/name.js'

interface Known {
  database: string
  names: LedgerNames
  /** That were followed. */
  former: readonly string[]
}

/** The stored state of a collection of the region's device. One that is damaged is set aside. */
export async function heldState(devices: DeviceStore, key: StoreKey): Promise<DeviceState> {
  const read = readState((await devices.read(key)).stored)
  return 'state' in read ? read.state : emptyState()
}

/**
 * Of which ledgers a region's numbers are.
 * @param keys of its collections
 * @returns undefined: it has no number yet, or none of a ledger that has a name
 */
export async function namesIn(
  devices: DeviceStore,
  keys: readonly StoreKey[],
): Promise<LedgerNames | undefined> {
  for (const key of keys) {
    const { ledgers } = await heldState(devices, key)
    if (ledgers) return ledgers
  }
  return undefined
}

/**
 * The collections of a database whose claim or check-in under way shows one of these tokens. One
 * check-in may be of several.
 */
export async function showing(
  devices: DeviceStore,
  database: string,
  shown: CheckInRequest['grants'],
): Promise<CollectionKey[]> {
  const tokens = new Set(shown.map(({ token }) => token))
  const found: CollectionKey[] = []
  if (tokens.size === 0) return found
  for (const key of await devices.keys()) {
    const { claim, checkIn } = await heldState(devices, key)
    const asked = [...(claim?.shown ?? []), ...(checkIn?.grants ?? [])]
    if (key[1] === database && asked.some(({ token }) => tokens.has(token)))
      found.push({ database, collection: key[2].slice(0, -1) })
  }
  return found
}

/**
 * Nothing was taken of the other root, so the region goes on with its own.
 * @param name of the ledger that answers as the root
 */
export function ledBack(state: DeviceState, name: string | undefined): DeviceState {
  const { stopped, ...next } = state
  return stopped && stopped.of === name ? next : state
}

/** The numbers of the collection, or of the others of its database, are of one of them. */
export const betweenTwoRoots = (collection: string): CounterUnusable =>
  new CounterUnusable(
    `Another ledger answers as the root of this region than the one that its numbers are of, so ` +
      `nothing of '${collection}' is granted. Lead \`upstream\` back to that one, and start this ` +
      'server again. If that one is lost, run at the other: npx offline-hilo-server follow',
  )

/** Why the root refuses who shows these names. Undefined: it does not. */
export type AskRoot = (database: string, names: LedgerNames) => Promise<Failure | undefined>

/** @param askRoot undefined: it is no ledger, and there is nothing to read before each claim */
export function rootNames(
  devices: DeviceStore,
  keyOf: (key: CollectionKey) => StoreKey,
  askRoot: AskRoot | undefined,
) {
  /** By collection. A root may be parted: then each database has a ledger of its own. */
  const known = new Map<string, Known>()
  const stopped = new Set<string>()
  /** Collections that have checked in: from then on, what is known of them is told by `heard`. */
  const ready = new Set<string>()

  async function read(key: CollectionKey): Promise<DeviceState> {
    const state = await heldState(devices, keyOf(key))
    const { ledgers, former = [] } = state
    if (ledgers) known.set(keyText(key), { database: key.database, names: ledgers, former })
    return state
  }

  /** Reads the name, until there is one. Before the check-in, what is stored may be over. */
  async function learn(key: CollectionKey): Promise<void> {
    if (!askRoot || ready.has(keyText(key))) return
    const state = await read(key)
    if (state.ledgers) ready.add(keyText(key))
    if (state.stopped) stopped.add(keyText(key))
  }

  /** The region's device, as it names itself. */
  const heard: OwnerCallbacks['changed'] = (target, view) => {
    const key = keyText(target)
    if (!view.stopped) stopped.delete(key)
    else stopped.add(key)
    if (!view.followed) return
    known.delete(key)
    ready.delete(key)
  }

  async function otherThan(
    { database, names, former }: Known,
    ledgers: LedgerNames | undefined,
  ): Promise<OtherLedger | undefined> {
    for (const [tag, name] of Object.entries(names)) {
      const other = otherLedger(ledgers, tag, name, database, {})
      if (!other) continue
      const lost = within(other.held, database)
      if (!former.some((name) => within(name, database) === lost)) return other
      // The root follows that one, and says above which number.
      const heard = (await askRoot!(database, { [tag]: other.held }))?.ledger
      return heard?.name === name ? { ...other, above: heard.above } : other
    }
    return undefined
  }

  /** The ledger of the region, which refuses devices of another root. */
  function under(ledger: Ledger): Ledger {
    const refusal = async (claim: ClaimRequest): Promise<ClaimOutcome | undefined> => {
      const key = keyText(normalized(claim))
      // guard: H34 a region between two roots grants nothing
      if (stopped.has(key)) throw betweenTwoRoots(claim.collection)
      const own = known.get(key)
      const other = own && (await otherThan(own, claim.ledgers))
      return other && { refused: 'other-ledger', max: 0, other }
    }
    return {
      ...ledger,
      async claim(claims, received) {
        const refusals = await Promise.all(claims.map(refusal))
        const granted = await ledger.claim(
          claims.filter((_, i) => !refusals[i]),
          received,
        )
        return refusals.map((refused, i) => refused ?? named(claims[i]!, granted.shift()!))
      },
    }
  }

  function named(claim: ClaimRequest, outcome: ClaimOutcome): ClaimOutcome {
    if ('refused' in outcome) return outcome
    const { grant } = outcome
    const name = known.get(keyText(normalized(claim)))?.names[grant.serverTag]
    return { ...outcome, grant: { ...grant, ledger: name && within(name, claim.database) } }
  }

  /** Does a device hold numbers of another root than this region, in the database it asks? */
  async function otherOf({
    database,
    ledgers,
  }: Pick<CheckIn, 'database' | 'ledgers'>): Promise<OtherLedger | undefined> {
    if (!ledgers || !askRoot) return undefined
    const asked = database.toLowerCase()
    // Of its collections, this process may have granted nothing yet.
    for (const [, of, prefix] of await devices.keys()) {
      const key = { database: asked, collection: prefix.slice(0, -1) }
      if (of === asked && !known.has(keyText(key))) await read(key)
    }
    const all = [...known.values()].filter((each) => each.database === asked)
    const other = all[0] && (await otherThan(all[0], ledgers))
    const isOfOne = other && all.some(({ names }) => names[other.serverTag] === other.held)
    return isOfOne ? undefined : other
  }

  const names = (): string[] =>
    [...known.values()].flatMap(({ names, database }) =>
      Object.values(names).map((name) => within(name, database)),
    )

  return { learn, heard, under, otherOf, names }
}
