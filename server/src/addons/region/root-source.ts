/**
 * The root of a region, as the source of its device. Guarantees that these answers grant nothing: a
 * grant without a token, for another collection, under another tag, or of numbers that were granted
 * here before.
 */
import { randomUUID } from 'node:crypto'
import { HiloError, toFailure } from '../../../../src/core/errors.js'
import type { CheckInAnswer, CheckInRequest } from '../../../../src/core/wire.js'
import type { Target } from '../../../../src/device/contract.js'
import type { DeviceStore, StoreKey } from '../../../../src/device/device-store.js'
import type { WantedRange } from '../../../../src/device/requests.js'
import type { DeviceClaim, DeviceState, GrantedRange } from '../../../../src/device/state.js'
import { ravenSource } from '../../../../src/source/raven-source.js'
import type { Source } from '../../../../src/source/source.js'
import type { CollectionKey, Ledger } from '../../ledger/ledger.js'
import { upstreamFailure } from '../upstream/authority.js'
import { REGIONS_HEADER } from './circle.js'
import type { Root } from './region-options.js'
import { heldState } from './root-names.js'

/** The limit of one request to the root. Claims of devices wait as long. */
const TIMEOUT_MS = 5_000

const COPIED = { superseded: true } as const

interface Region {
  ledger: Ledger
  devices: DeviceStore
  keyOf(target: Target): StoreKey
  /** The collections whose request under way shows one of these tokens. */
  showing(database: string, shown: CheckInRequest['grants']): Promise<CollectionKey[]>
  /**
   * This region is a copy, and another copy has asked the root; or the root has dropped the
   * collection: numbers that came back here are not the region's own.
   */
  copied(key: CollectionKey): Promise<void>
  /** Through which a request comes to the root. */
  regions(): string
}

export interface RootSource extends Required<Source> {
  /**
   * From now on, all that the root grants is above `floor`.
   * @throws UpstreamUnavailable, CounterUnusable when the root does not say so
   */
  goOnAbove(target: Target, floor: number): Promise<void>
}

export function rootSource({ url, token }: Root, region: Region): RootSource {
  const root = ravenSource({ url, timeout: TIMEOUT_MS }, () => ({
    [REGIONS_HEADER]: region.regions(),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  }))

  /**
   * Called before the results are applied: after a crash in between, they come again.
   * @param shown the tokens that the results are about, in their order
   */
  async function met(
    { database }: Target,
    shown: CheckInRequest['grants'],
    answered: CheckInAnswer['grants'],
  ): Promise<CheckInAnswer['grants']> {
    // The root has a new secret, so nothing tells this region from a copy of it.
    // guard: H13 a region drops what its root does not know any more
    const results = answered.map((each) => ('unknown' in each ? COPIED : each))
    const lost = shown.filter((_, i) => 'superseded' in results[i]! || 'dropped' in results[i]!)
    // guard: H13 a copied region grants nothing of what came back to it
    for (const key of await region.showing(database, lost)) await region.copied(key)
    return results
  }

  /** @throws HiloError when the grant is not used */
  async function judged({ target, claim }: WantedRange, grant: GrantedRange) {
    const results = grant.results && (await met(target, claim.shown ?? [], grant.results))
    await check(target, claim, grant)
    return { ...grant, ...(results && { results }) }
  }

  /** Undefined: another of the region's servers has taken the answer over already. */
  async function pending(target: Target, claim: DeviceClaim): Promise<DeviceState | undefined> {
    const state = await heldState(region.devices, region.keyOf(target))
    return state.claim?.id === claim.id ? state : undefined
  }

  async function check(target: Target, claim: DeviceClaim, grant: GrantedRange): Promise<void> {
    const { range } = grant
    const what = `${url} granted ${range.from} to ${range.to} of '${target.collection}'`
    const state = await pending(target, claim)
    if (!state) return
    if (range.token === undefined)
      throw refused(
        `${what} without a token`,
        'It is no offline-hilo-server. Bind a collection to a RavenDB with `collections`',
      )
    if (state.serverTag !== undefined && state.serverTag !== range.serverTag)
      throw refused(
        `${what} under the tag '${range.serverTag}', and before under '${state.serverTag}'`,
        'Its ids would not be of one kind. Set its --node-tag back',
      )
    // guard: H20 a root that grants numbers a second time is refused
    const isHeld = await region.ledger.holds(target, range.from, range.to)
    // Or has another server taken it over, and granted of it, meanwhile?
    if (isHeld && (await pending(target, claim)))
      throw refused(
        `${what}, which it granted before`,
        'Was it restored from a backup? Raise its floors: `npx offline-hilo-server raise-floor`',
      )
  }

  return {
    ...root,
    async claim(target, claim) {
      return judged({ target, claim }, await root.claim(target, claim))
    },
    async claimTogether(wanted) {
      const answers = await root.claimTogether(wanted)
      // guard: H13 an answer to several claims is judged as the answer to one
      return Promise.all(
        answers.map(async (answer, i) => {
          if (!answer || answer instanceof HiloError) return answer
          return judged(wanted[i]!, answer).catch((error) => {
            if (error instanceof HiloError) return error
            throw error
          })
        }),
      )
    },
    async goOnAbove(target, floor) {
      const claim = { id: randomUUID(), lastBatchSize: 1, lastMax: floor }
      const { range } = await root.claim(target, claim).catch((error) => {
        throw upstreamFailure(
          toFailure(error, 'server-unreachable'),
          `Nothing was raised: the root ${url} has to go on above ${floor} with ` +
            `'${target.collection}' first. If that number is right, raise the floor there first.`,
        )
      })
      // If it does not come back, one number is a gap.
      await root.giveBack!(target, range).catch(() => {})
    },
    async checkIn(target, request) {
      const answer = await root.checkIn(target, request)
      return { ...answer, grants: await met(target, request.grants, answer.grants) }
    },
  }
}

const refused = (what: string, todo: string): HiloError =>
  new HiloError('invalid-response', `${what}. ${todo}. Nothing was taken.`)
