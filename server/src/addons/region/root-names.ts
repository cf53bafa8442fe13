/**
 * By which names a region's devices know its root (H34): the region answers with the name that its
 * own device has heard. Guarantees that a region whose root became another ledger grants nothing.
 */
import type { OwnerCallbacks } from '../../../../src/device/contract.js'
import type { DeviceStore, StoreKey } from '../../../../src/device/device-store.js'
import { type DeviceState, emptyState } from '../../../../src/device/state.js'
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
import { CounterUnusable, HeldOfAnother } from '../../ledger/ledger-errors.js'
import { otherLedger } from '../../ledger/name.js'

/** The stored state of a collection of the region's device. */
export async function heldState(devices: DeviceStore, key: StoreKey): Promise<DeviceState> {
  const { stored } = await devices.read(key)
  return (stored ?? emptyState()) as DeviceState
}

/** @param isNameless the root is no ledger: there is nothing to read before each claim */
export function rootNames(
  devices: DeviceStore,
  keyOf: (key: CollectionKey) => StoreKey,
  isNameless: boolean,
) {
  /** By collection. */
  const known = new Map<string, LedgerNames>()
  const stopped = new Set<string>()

  /** Reads the name, until there is one: it does not change while the region grants. */
  async function learn(key: CollectionKey): Promise<void> {
    if (isNameless || known.has(keyText(key))) return
    const { ledgers, stopped: stop } = await heldState(devices, keyOf(key))
    if (ledgers) known.set(keyText(key), ledgers)
    if (stop) stopped.add(keyText(key))
  }

  /** The region's device, as it names itself. */
  const heard: OwnerCallbacks['changed'] = (target, view) => {
    const key = keyText(target)
    if (!view.stopped) stopped.delete(key)
    else stopped.add(key)
    if (view.followed) known.delete(key)
  }

  function otherThan(
    names: LedgerNames,
    ledgers: LedgerNames | undefined,
  ): OtherLedger | undefined {
    for (const [tag, name] of Object.entries(names)) {
      const other = otherLedger(ledgers, tag, name, {})
      if (other) return other
    }
    return undefined
  }

  /** The ledger of the region, which refuses devices of another root. */
  function under(ledger: Ledger): Ledger {
    const refusal = (claim: ClaimRequest): ClaimOutcome | undefined => {
      const key = keyText(normalized(claim))
      // guard: H34 a region between two roots grants nothing
      if (stopped.has(key))
        throw new CounterUnusable(
          `Another ledger answers as the root of this region than the one that its numbers of ` +
            `'${claim.collection}' are of. Lead \`upstream\` back to that one, or run there: ` +
            'npx offline-hilo-server follow',
        )
      const other = otherThan(known.get(key) ?? {}, claim.ledgers)
      return other && { refused: 'other-ledger', max: 0, other }
    }
    return {
      ...ledger,
      async claim(claims, received) {
        const refusals = claims.map(refusal)
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
    const ledger = known.get(keyText(normalized(claim)))?.[grant.serverTag]
    return { ...outcome, grant: { ...grant, ledger } }
  }

  /** @throws HeldOfAnother */
  function refuseOthers({ database, ledgers }: CheckIn): void {
    const names = [...known.values()]
    const other = names.length > 0 ? otherThan(names[0]!, ledgers) : undefined
    if (other && !names.some((each) => each[other.serverTag] === other.held))
      throw new HeldOfAnother(database, other)
  }

  const names = (): string[] => [...known.values()].flatMap((each) => Object.values(each))

  return { learn, heard, under, refuseOthers, names }
}
