/**
 * A region: a ledger whose numbers all come from another authority, its root. Towards it the region
 * is a device, with a device's state, claims and check-ins. Guarantees that a number has left the
 * region's device for good before its ledger grants it, and that a copy of a region drops its
 * numbers.
 */
import { randomUUID } from 'node:crypto'
import { toFailure } from '../../../../src/core/errors.js'
import type { OwnerCallbacks, Target } from '../../../../src/device/contract.js'
import type { DeviceStore, StoreKey } from '../../../../src/device/device-store.js'
import type { DeviceState } from '../../../../src/device/state.js'
import { step } from '../../../../src/device/stored.js'
import type { Source } from '../../../../src/source/source.js'
import { createOwner } from '../../../../src/worker/owner.js'
import type { World } from '../../../../src/worker/world.js'
import {
  type BoundCollections,
  distinct,
  EVERY_COLLECTION,
  keyText,
  normalized,
} from '../../ledger/collections.js'
import type {
  ClaimOutcome,
  ClaimRequest,
  CollectionKey,
  IdentityOutcome,
  Ledger,
} from '../../ledger/ledger.js'
import { CounterUnusable, HeldOfAnother } from '../../ledger/ledger-errors.js'
import { checkFloors } from '../../ledger/marks.js'
import { MAX_NUMBER } from '../../ledger/number-line.js'
import type { RowStore } from '../../ledger/row-store.js'
import { claimWithAuthority, upstreamFailure } from '../upstream/authority.js'
import { circleOf } from './circle.js'
import { type EtcdSource, etcdSource } from './etcd-source.js'
import type { Etcd, Root } from './region-options.js'
import {
  type AskRoot,
  betweenTwoRoots,
  heldState,
  namesIn,
  rootNames,
  showing,
} from './root-names.js'
import { type RootSource, rootSource } from './root-source.js'
import { Supply, type SupplyContext } from './supply.js'

/** The binding of a region's ledger, which counts no collection itself. */
export const ALL_FROM_ROOT: BoundCollections = new Map([
  [
    EVERY_COLLECTION,
    { database: '', collection: '', authority: 'upstream', description: 'a region of a root' },
  ],
])

/** Part of the keys of records. Region and root may move to other addresses, so none is in it. */
const kindOf = (root: Root | Etcd): string => ('etcd' in root ? 'etcd' : 'root')
const SEPARATOR = '/'

const targetOf = ({ database, collection }: CollectionKey, reserve: number): Target => ({
  database,
  collection,
  separator: SEPARATOR,
  reserve,
})

const isFull = (outcome: ClaimOutcome): boolean =>
  'refused' in outcome && outcome.refused === 'full'

/**
 * @param root as it is configured; undefined: none is
 * @throws Error when the ledger belongs to a region and no root is configured, or the reverse, or
 * a root of another kind
 */
export async function checkRole(
  ledger: Pick<Ledger, 'status'>,
  devices: DeviceStore,
  root: Root | Etcd | undefined,
): Promise<void> {
  const held = await devices.keys()
  if (!root) {
    if (held.length === 0) return
    throw new Error(
      "This ledger is a region's: its numbers come from a root, and without it they would be " +
        'granted twice. Give `upstream` in the configuration.',
    )
  }
  // guard: H34 a region goes on with the kind of root that it has
  for (const key of held.filter(([kind]) => kind !== kindOf(root)))
    if ((await heldState(devices, key)).serverTag !== undefined)
      throw new Error(
        `The numbers of this region came from ${'etcd' in root ? 'another server' : 'etcd'}, and ` +
          'another root may grant the same ones to other regions. Set `upstream` back. To move ' +
          'all regions, raise the floors of the new root above all that was granted, and give ' +
          'each region a new ledger.',
      )
  const known = new Set(held.map(([, database, prefix]) => JSON.stringify([database, prefix])))
  const own = (await ledger.status()).find(
    ({ database, collection, max }) =>
      max > 0 && !known.has(JSON.stringify([database, collection + SEPARATOR])),
  )
  if (own)
    throw new Error(
      `This ledger has counted ${own.database}/${own.collection} by itself, up to ${own.max}, so ` +
        'it cannot be a region: its root would grant these numbers again. Give the region a new ' +
        "ledger, and raise the root's floor: npx offline-hilo-server raise-floor.",
    )
}

/** @param ledger made with `ALL_FROM_ROOT` */
export function openRegion(
  ledger: Ledger,
  { devices, name }: Pick<RowStore, 'devices' | 'name'>,
  root: Root | Etcd,
): Ledger {
  // A root's tag comes with each range. Of an etcd, the settings say it.
  // guard: H10 a region over etcd makes no ids of another etcd
  if ('etcd' in root) ledger.useIdParts?.({ nodeTag: root.tag, serverPrefix: undefined })
  const kind = kindOf(root)
  const keyOf = ({ database, collection }: CollectionKey): StoreKey => [
    kind,
    database,
    collection + SEPARATOR,
  ]
  const heldOf = (key: CollectionKey) => heldState(devices, keyOf(key))
  const copied = async (key: CollectionKey) => dropHeld(ledger, key, await heldOf(key))
  const forgetHeld: ForgetHeld = async (database, collection) => {
    for (const [, ofDatabase, prefix] of await devices.keys()) {
      const key = { database: ofDatabase, collection: prefix.slice(0, -SEPARATOR.length) }
      if (key.database !== database || key.collection !== (collection ?? key.collection)) continue
      // guard: H20 a region whose floors are raised grants nothing that it held before
      await devices.update(keyOf(key), (stored, notes) =>
        step(prefix, stored, notes, (state) => [withoutHeld(state), undefined]),
      )
    }
  }
  // An etcd asks nobody.
  const circle = 'etcd' in root ? undefined : circleOf(name, root.url)
  const source: RootSource | EtcdSource =
    'etcd' in root
      ? etcdSource(root)
      : rootSource(root, {
          ledger,
          devices,
          keyOf,
          showing: (...of) => showing(devices, ...of),
          copied,
          regions: circle!.regions,
        })
  const page = randomUUID()
  const answers: SupplyContext['answers'] = {}
  const askRoot = asking(source)
  const roots = rootNames(devices, keyOf, askRoot)
  const owner = openOwner(devices, source, kind, page, answers, roots.heard)
  const newId = randomUUID
  const ledgers = async (name: string) =>
    namesIn(
      devices,
      (await devices.keys()).filter(([, database]) => database === name),
    )
  const context = { owner, devices, source, copied, ledgers, page, answers, newId }
  const supplies = suppliesOf(context, keyOf, root.reserve)
  return {
    ...ledger,
    ...identitiesOf(owner, roots.otherOf),
    ...floorsOf(ledger, source, root.reserve, forgetHeld),
    readName: async () => roots.names()[0],
    useIdParts: undefined,
    askedThrough: circle?.askedThrough,
    async claim(requests) {
      return claim(roots.under(ledger), supplies, requests, roots.learn)
    },
    async checkIn(request) {
      const other = await roots.otherOf(request)
      if (other) throw new HeldOfAnother(request.database, other)
      return ledger.checkIn(request)
    },
    async follow() {
      throw new CounterUnusable('Only the root of this region can follow another ledger.')
    },
    async claimSeries({ collection }) {
      throw new CounterUnusable(
        `Only the root of this region gives series of '${collection}': here its letters would ` +
          'be given twice. Let devices that need a series ask the root.',
      )
    },
    async checkInSeries() {
      throw new CounterUnusable(
        'Only the root of this region knows series: here each would seem unknown, and would ' +
          'end. Let devices that have a series ask the root.',
      )
    },
    async close() {
      // If the root is away, closing goes on: the next start grants the numbers that are here.
      await supplies.close()
      await owner.close()
      await ledger.close()
    },
  }
}

/** By a check-in that shows no number. Undefined: an etcd knows no names. */
const asking = ({ checkIn }: Source): AskRoot | undefined =>
  checkIn &&
  (async (database, ledgers) => {
    const request = { id: randomUUID(), grants: [], spent: [], ledgers }
    try {
      await checkIn(targetOf({ database, collection: '' }, 0), request)
      return undefined
    } catch (error) {
      return toFailure(error, 'server-unreachable')
    }
  })

/** This region is a copy: the ledger goes on above all that the device holds. */
async function dropHeld(
  ledger: Ledger,
  key: CollectionKey,
  { ranges, leases, offers, issued }: DeviceState,
): Promise<void> {
  const held = [...ranges, ...[...leases, ...offers].map(({ range }) => range)]
  const { max } = await ledger.read(key)
  // guard: H13 of what a copied region has just taken it grants nothing
  const floor = Math.max(max, issued, ...held.map(({ to }) => to))
  if (floor > 0) await ledger.raiseFloor({ ...key, floor })
}

/** Drops what a region holds of a collection, or of all collections of a database. */
type ForgetHeld = (database: string, collection?: string) => Promise<void>

/** It holds nothing, and waits for nothing. */
const withoutHeld = ({ claim, checkIn, unheard, ...state }: DeviceState): DeviceState => ({
  ...state,
  ...{ ranges: [], leases: [], offers: [], grants: [] },
})

function openOwner(
  devices: DeviceStore,
  source: Source,
  kind: string,
  page: string,
  answers: SupplyContext['answers'],
  changed: OwnerCallbacks['changed'],
) {
  const owner = createOwner(regionWorld(devices, source))
  owner.open(
    { url: kind, name: kind, page, headers: {}, timeout: 0, answers },
    {
      headers: async () => ({ headers: {} }),
      changed,
      stored() {},
      async parkExcess() {},
    },
  )
  return owner
}

type Supplies = ReturnType<typeof suppliesOf>

function suppliesOf(
  context: SupplyContext,
  keyOf: (key: CollectionKey) => StoreKey,
  reserve: number,
) {
  const supplies = new Map<string, Supply>()
  return {
    of(key: CollectionKey): Supply {
      const text = keyText(key)
      const target = targetOf(key, reserve)
      const supply = supplies.get(text) ?? new Supply(context, target, keyOf(key))
      supplies.set(text, supply)
      return supply
    },
    /** Names come from requests: of those that there is no room for, nothing is kept. */
    forget(key: CollectionKey): void {
      const text = keyText(key)
      if (supplies.get(text)?.isUnused()) supplies.delete(text)
    },
    async close(): Promise<void> {
      await Promise.allSettled([...supplies.values()].map((supply) => supply.close()))
    },
  }
}

async function claim(
  ledger: Ledger,
  supplies: Supplies,
  requests: readonly ClaimRequest[],
  learn: (key: CollectionKey) => Promise<void>,
): Promise<ClaimOutcome[]> {
  // A device may have higher numbers of another region: that proves nothing here.
  const claims = requests.map((claim) => ({ ...normalized(claim), lastMax: 0 }))
  await Promise.all(
    distinct(claims, keyText).map(async (key) => {
      await supplies.of(key).ready()
      await learn(key)
    }),
  )
  return claimWithAuthority(
    async (claims, received) => {
      const outcomes = await ledger.claim(claims, received)
      for (const [i, outcome] of outcomes.entries())
        if (isFull(outcome)) supplies.forget(claims[i]!)
      return outcomes
    },
    claims,
    async (key, short, max) => {
      const count = short.reduce((sum, claim) => sum + claim.count, 0)
      const taken = await supplies.of(key).take(count, max)
      await learn(key)
      return taken
    },
  )
}

const FROM_ROOT = 'Identities come from the root.'

const identitiesOf = (
  owner: ReturnType<typeof openOwner>,
  otherOf: ReturnType<typeof rootNames>['otherOf'],
): Pick<Ledger, 'nextIdentities' | 'seedIdentity'> => ({
  nextIdentities: (claims) =>
    Promise.all(
      claims.map(async (claim): Promise<IdentityOutcome> => {
        const other = await otherOf(claim)
        if (other && other.above === undefined) return { refused: 'other-ledger', value: 0, other }
        const { database, name, id = randomUUID() } = claim
        // The root refuses a region that holds numbers of another one.
        const answer = await owner.nextIdentity(database.toLowerCase(), name.replace(/\|$/, ''), id)
        if ('number' in answer) return { value: answer.number }
        throw answer.failure.code === 'other-ledger'
          ? betweenTwoRoots(name)
          : upstreamFailure(answer.failure, FROM_ROOT)
      }),
    ),
  async seedIdentity({ name }) {
    throw new CounterUnusable(
      `Identity '${name}' is counted by the root of this region: seed it there.`,
    )
  },
})

/**
 * @param forgetHeld A region that was restored has granted since, to its devices or back to its
 * root, what its backup holds
 */
const floorsOf = (
  ledger: Ledger,
  source: RootSource | EtcdSource,
  reserve: number,
  forgetHeld: ForgetHeld,
): Pick<Ledger, 'raiseFloor' | 'raiseFloors'> => ({
  async raiseFloor(floor) {
    const key = normalized(floor)
    // The root's floor comes first: all that it grants from then on is above.
    if ('raiseFloor' in source) await source.raiseFloor(key, floor.floor, 0)
    else await source.goOnAbove(targetOf(key, reserve), floor.floor)
    await forgetHeld(key.database, key.collection)
    return ledger.raiseFloor(floor)
  },
  async raiseFloors(floors) {
    checkFloors(floors)
    const database = floors.database.toLowerCase()
    const own = (await ledger.status()).filter((key) => key.database === database)
    if ('goOnAbove' in source)
      // Otherwise it is used up.
      for (const { max, ...key } of own)
        if (floors.by < MAX_NUMBER - max)
          await source.goOnAbove(targetOf(key, reserve), max + floors.by)
    await forgetHeld(database)
    const raised = await ledger.raiseFloors(floors)
    if ('raiseFloor' in source) {
      const others = await source.beginAbove(database, floors.by)
      for (const key of distinct([...others, ...own], keyText))
        await source.raiseFloor(key, (await ledger.read(key)).max, floors.by)
      return raised
    }
    return { ...raised, floor: 0 }
  },
})

/** A region's device touches these outside itself: the clock, timers, the ledger's database. */
const regionWorld = (devices: DeviceStore, source: Source): World => ({
  openStore: async () => devices,
  untilOpen: async () => {},
  storageKind: async () => 'persistent',
  createSource: () => source,
  now: () => performance.now(),
  date: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
  random: Math.random,
  newId: randomUUID,
  // Several servers of one region may send the same claim. Its answer is applied once.
  lock: (_, run) => run(),
})
