/**
 * What kind of world one seed makes: who grants numbers, how many devices there are, and which
 * faults may happen. Most worlds have only a few kinds of faults: so two rare faults meet more
 * often.
 */
import type { DeviceTraits } from './device.js'
import type { Random } from './random.js'
import { TENANTS, type Tenant } from './tenants.js'

/** Kinds of faults that a world has or has not. */
const FAULT_KINDS = [
  'crashes',
  'powerCuts',
  'lostMessages',
  'lateMessages',
  'duplicateMessages',
  'servers',
  'nodes',
  'offline',
  'storage',
  'workers',
  'clocks',
  'eviction',
  'portals',
  'proxies',
  'caches',
  'switches',
  'mounts',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Profile {
  /**
   * `own`: this package's server. `raven`: no tokens, no claim ids. The others: a counter that the
   * app brings.
   */
  authority: 'own' | 'raven' | 'document' | 'nextHi'
  nodes: readonly string[]
  /** Of an own server: who counts its numbers. */
  counts: 'its ledger' | 'a back end' | 'a function' | 'a root'
  devices: number
  collections: readonly string[]
  reserve: number
  /** How many moves there are before all faults stop. */
  moves: number
  faults: ReadonlySet<FaultKind>
  /** The profile of a device is copied, and both go on. */
  hasClones: boolean
  /** The storage of a device is replaced by an older copy of itself. */
  goesBack: boolean
  /** A node's database is restored from an older copy. */
  hasRestore: boolean
  /** An app makes receipts and closes their periods, whatever the seed says. */
  closesPeriods: boolean
  /** A restore may forget hand-overs of series. */
  forgetsHandOvers: boolean
  /** A claim for more numbers than this is refused, also after all other faults have ended. */
  sizeLimit: number | undefined
  /** The tenants of the app. Each has a counter of its own, and each page belongs to one. */
  tenants: readonly Tenant[]
  ending: 'account' | 'drain'
  /** Some of its browsers have storage buckets, or learn them. */
  hasBuckets: boolean
}

export function chooseProfile(random: Random): Profile {
  const authority = random.weighted({ own: 57, raven: 30, document: 10, nextHi: 3 })
  const isClean = random.chance(0.15)
  const nodes = random.chance(0.3) && !isOfTheApp(authority) ? ['A', 'B'] : ['A']
  const profile: Profile = {
    authority,
    nodes,
    counts: 'its ledger',
    devices: random.between(1, 3),
    collections: random.chance(0.3) ? ['orders', 'lines'] : ['orders'],
    reserve: random.pick([0, 0, 4, 32, 32, 100]),
    moves: random.between(4, random.chance(0.1) ? 100 : 35),
    faults: new Set(
      isClean
        ? []
        : FAULT_KINDS.filter(
            (kind) => random.chance(0.4) && (kind !== 'nodes' || nodes.length > 1),
          ),
    ),
    hasClones: !isClean && authority === 'own' && random.chance(0.1),
    hasRestore: !isClean && authority === 'own' && random.chance(0.08),
    sizeLimit: authority === 'own' && random.chance(0.15) ? random.between(32, 120) : undefined,
    tenants: isOfTheApp(authority) && random.chance(0.5) ? TENANTS : [''],
    ending: random.chance(0.5) ? 'account' : 'drain',
    goesBack: false,
    closesPeriods: false,
    forgetsHandOvers: false,
    hasBuckets: false,
  }
  const { hasClones, hasRestore } = profile
  const mayGoBack = authority === 'own' && nodes.length === 1 && !hasClones && !hasRestore
  profile.goesBack = mayGoBack && random.chance(0.1)
  // Where nothing else breaks, it is known exactly which number may be issued twice.
  if ((profile.goesBack || hasClones) && nodes.length === 1 && random.chance(0.5))
    profile.faults = new Set()
  return profile
}

/** With a counter of the app's own, nothing is given back, and a lost answer leaves a gap. */
export const isOfTheApp = (authority: Profile['authority']): authority is 'document' | 'nextHi' =>
  authority === 'document' || authority === 'nextHi'

/** One server of our own, which counts by itself, and of which nobody makes a copy. */
export const isOneLedger = (profile: Profile): boolean =>
  profile.authority === 'own' &&
  profile.counts === 'its ledger' &&
  profile.nodes.length === 1 &&
  !profile.hasClones &&
  !profile.goesBack &&
  !profile.hasRestore

export function chooseTraits(random: Random, profile: Profile): DeviceTraits {
  const isOdd = profile.faults.size > 0 && random.chance(0.3)
  return {
    engine: random.pick(['chromium', 'chromium', 'firefox', 'webkit']),
    hasLocks: !isOdd || random.chance(0.5),
    hasBroadcasts: !isOdd || random.chance(0.5),
    forbidsBroadcasts: random.chance(0.5),
    hasIndexedDb: !isOdd || random.chance(0.9),
    workers: isOdd && random.chance(0.5) ? 'blocked' : 'work',
  }
}
