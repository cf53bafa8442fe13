/**
 * The answers of `inspect` and the reports of `watch`. It changes nothing, and is loaded when first
 * used.
 */
import type { fromFailure } from '../core/errors.js'
import { type Step, stepsBetween } from '../device/activity.js'
import type { OwnerCallbacks, Target } from '../device/contract.js'
import type { LeaseQueue } from '../device/page/lease-queue.js'
import { reserveOf } from '../device/reserve.js'
import { type Segment, segmentsOf } from '../device/segments.js'
import type { DeviceState, Gaps } from '../device/state.js'
import type { OwnerLink } from './owner-link.js'
import type { PageLeases } from './page-leases.js'

/**
 * One collection of this device, number by number: the result of {@link Hilo.inspect}. Without
 * secrets.
 */
export interface Inspection {
  /** Its name, as the server knows it. */
  collection: string
  /** The database that was asked. */
  database: string
  /**
   * Lowest first. No number is in two of them, but for numbers of different prefixes or server
   * tags.
   */
  segments: InspectedSegment[]
  /** How many ids this device keeps for offline work. */
  reserve: number
  /** The highest number that a page of this device may have issued; 0 before the first. */
  issued: number
  /** How many numbers nobody will issue, by cause. */
  gaps: Gaps
  /** A claim was stored, and its answer is not here yet. */
  isClaiming: boolean
  /**
   * When the server last renewed the grant tokens: milliseconds since the epoch, by this device's
   * clock.
   */
  checkedIn?: number
}

export interface InspectedSegment extends Segment {
  /** Is `page` the one that asks? */
  isThisPage: boolean
}

/** A change of some numbers, as {@link Hilo.watch} reports it. */
export interface Activity extends Step {
  /** Its name, as the server knows it. */
  collection: string
  /** The collection's database. */
  database: string
  /** When this page saw it: milliseconds since the epoch, by this device's clock. */
  time: number
  /** Is `page` the one that watches? */
  isThisPage: boolean
}

/** @internal */
export type Observer = OwnerCallbacks['stored']

/**
 * @internal
 * @param errorOf passed in, so that a page does not load a second copy
 * @throws HiloError `storage-failed`, `outdated`
 */
export async function inspect(
  link: OwnerLink,
  thisPage: string,
  { target, queue }: PageLeases,
  errorOf: typeof fromFailure,
): Promise<Inspection> {
  const answer = await link.call('inspect', [target])
  if ('failure' in answer) throw errorOf(answer.failure)
  return inspectionOf(answer.state, thisPage, target, queue)
}

function inspectionOf(
  state: DeviceState,
  thisPage: string,
  target: Target,
  queue: LeaseQueue,
): Inspection {
  const { issued, gaps, claim, checkedIn } = state
  return {
    collection: target.collection,
    database: target.database,
    segments: segmentsOf(state, queue.progress()).map((segment) => ({
      ...segment,
      isThisPage: segment.page === thisPage,
    })),
    reserve: reserveOf(state, target.reserve),
    issued,
    gaps,
    isClaiming: claim !== undefined,
    ...(checkedIn !== undefined && { checkedIn }),
  }
}

/** @internal */
export function observe(thisPage: string, listener: (activity: Activity) => void): Observer {
  const seen = new Map<string, DeviceState>()
  return ({ database, collection, separator, reserve }, before, after) => {
    const key = JSON.stringify([database, collection, separator])
    const stages = [seen.get(key) ?? before, before, after]
    seen.set(key, after)
    for (const [i, state] of stages.slice(1).entries()) {
      for (const step of stepsBetween(stages[i]!, state, reserve))
        tell(listener, {
          ...step,
          collection,
          database,
          time: Date.now(),
          isThisPage: step.page === thisPage,
        })
    }
  }
}

/** A listener's error is reported, like that of an event listener, and holds up nothing. */
function tell(listener: (activity: Activity) => void, activity: Activity): void {
  try {
    listener(activity)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
