/**
 * Reads the state that an earlier session stored, and runs each step on it. Storage is not trusted:
 * a record that was cut short, or in which one number has two owners, is refused whole, with the
 * reason, so that it can be set aside and the device claims anew. No step makes such a record. The
 * record of a newer version is left alone.
 */
import { HiloError } from '../core/errors.js'
import type { Range } from '../core/range.js'
import { everything } from './check-in.js'
import type { SharedView } from './contract.js'
import { settle } from './device.js'
import type { Change, StoreKey } from './device-store.js'
import {
  type DeviceState,
  emptyState,
  type Gaps,
  type GrantedRange,
  type Note,
  STATE_VERSION,
} from './state.js'

/** Somebody else may have put records beside the device's. */
export const isKey = (key: unknown): key is StoreKey =>
  Array.isArray(key) && key.length === 3 && key.every(isText)

/**
 * The stored state (`undefined`: nothing stored yet), or why it cannot be used.
 * @param prefix of its ids: `orders/`. Default: any
 * @throws HiloError `outdated` for the record of a newer version
 */
export function readState(
  stored: unknown,
  prefix = '',
): { state: DeviceState } | { refused: string } {
  if (stored === undefined) return { state: emptyState() }
  if (!isObject(stored)) return { refused: 'it is not an object' }
  // guard: H17 storage of a newer version is left alone
  if (typeof stored.version === 'number' && stored.version > STATE_VERSION)
    throw new HiloError(
      'outdated',
      `The stored ids of this device have version ${stored.version}, and this package ` +
        `knows ${STATE_VERSION}: a newer offline-hilo was here. Load that version; no id was ` +
        'made, and what is stored stays.',
    )
  if (stored.version !== STATE_VERSION)
    return {
      refused: `its version is ${String(stored.version)}, this package knows ${STATE_VERSION}`,
    }
  if (!isSound(stored)) return { refused: 'fields are missing or have the wrong type' }

  const state = stored as unknown as DeviceState
  const twice = heldTwice(state)
  // guard: H17 a record in which a number has two owners is refused
  if (twice) return { refused: `${twice.from}–${twice.to} has two owners` }
  const other = everything(state).find((each) => !each.prefix.startsWith(prefix))
  // guard: H24 a record of another collection is refused
  if (other) return { refused: `it has '${other.prefix}'` }
  return { state }
}

/** A step as {@link DeviceStore.update} runs it: from the state that is read to the next one. */
export interface Step<T> extends Change<T> {
  /** With all notes settled. */
  before: DeviceState
  /** Why the record cannot be used. It is set aside, and the device begins anew. */
  refused?: string
}

/**
 * One step on a stored record, with the notes that pages left.
 * @throws HiloError `storage-failed` when a number would get two owners, `outdated`
 */
export function step<T>(
  prefix: string,
  stored: unknown,
  notes: readonly Note[],
  change: (before: DeviceState) => [state: DeviceState, result: T],
): Step<T> {
  const read = readState(stored, prefix)
  const isRefused = 'refused' in read
  const before = settle(isRefused ? emptyState() : read.state, notes)
  const [state, result] = change(before)
  // guard: H17 a state in which a number has two owners is not stored
  if (state !== stored && heldTwice(state)) throw new HiloError('storage-failed', TWO_OWNERS)
  return { before, state, result, ...(isRefused && { refused: read.refused, setAside: stored }) }
}

/** A range that overlaps another one of its prefix and server tag: its numbers have two owners. */
function heldTwice(state: DeviceState): Range | undefined {
  const ends = new Map<string, number>()
  return everything(state)
    .sort((a, b) => a.from - b.from)
    .find(({ from, to, prefix, serverTag }) => {
      const series = JSON.stringify([prefix, serverTag])
      const end = ends.get(series) ?? -1
      ends.set(series, Math.max(end, to))
      return from <= end
    })
}

const TWO_OWNERS =
  'No id was handed out, and nothing was stored: numbers would have two owners here. This is a ' +
  'fault of offline-hilo. Report it.'

type Check = (value: unknown) => boolean

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0
/** A time of a device's clock, which may stand before 1970, and which a date can show. */
const isTime = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) <= 8.64e15
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
/** Of one with holes, `every` alone would not look at these. */
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && [...value].every(check)
function objectOf(checks: Record<string, Check>): Check {
  const names = Object.keys(checks)
  return (value) => isObject(value) && names.every((name) => checks[name]!(value[name]))
}

const hasRange = objectOf({
  from: isCount,
  to: isCount,
  prefix: isText,
  serverTag: isText,
  token: maybe(isText),
})
export const isRange = (range: unknown): range is Range =>
  hasRange(range) && (range as Range).from <= (range as Range).to

const isFlag = maybe((value) => value === true)
const hasGrant = objectOf({
  range: isRange,
  ledger: maybe(isText),
  isPlain: isFlag,
}) as (grant: unknown) => grant is GrantedRange

/**
 * Is this a grant of the collection whose ids begin with `prefix`? An app's own source may answer
 * anything. It cannot check in, so it has no tokens.
 */
export const isGrant = (grant: unknown, prefix: string): grant is GrantedRange =>
  hasGrant(grant) && grant.range.prefix.startsWith(prefix) && !grant.range.token

const areHeld = listOf(objectOf({ id: isText, page: isText, range: isRange }))
const areShown = listOf(objectOf({ token: isText, next: isCount }))
const isStop = maybe(
  objectOf({ of: isText, by: isText, tag: isText, at: isTime, numbers: isCount }),
)
const areTexts = listOf(isText)
/** Of another form, each request that shows them is refused. */
const areLedgers = maybe(
  (value) => isObject(value) && !Array.isArray(value) && Object.values(value).every(isText),
)

/** What another page of this device shows of the state, as far as it is stored so. */
const SHARED = {
  gaps: objectOf({
    crash: isCount,
    giveBack: isCount,
    fork: isCount,
    drop: isCount,
    ledger: maybe(isCount),
  } satisfies Record<keyof Gaps, Check>),
  checkedIn: maybe(isTime),
  serverTag: maybe(isText),
  isReleased: isFlag,
  stopped: isStop,
  followed: isStop,
  ledgers: areLedgers,
}

/** Another page may be of another version, and another script may use its channel. */
export const isShown = objectOf({
  ...SHARED,
  free: isCount,
  reserve: isCount,
  surplus: isCount,
  mixedNodes: maybe(areTexts),
} satisfies Record<keyof SharedView, Check>) as (view: unknown) => view is SharedView

const isSound = objectOf({
  ...SHARED,
  ranges: listOf(isRange),
  leases: areHeld,
  offers: areHeld,
  claim: maybe(
    objectOf({ id: isText, lastBatchSize: isCount, lastMax: isCount, shown: maybe(areShown) }),
  ),
  reserve: maybe(isCount),
  declared: maybe(listOf(objectOf({ reserve: isCount, day: isTime }))),
  sinceGrant: maybe(objectOf({ at: isTime, issued: isCount })),
  nodes: maybe(areTexts),
  issued: isCount,
  grants: areTexts,
  checkIn: maybe(
    objectOf({ id: isText, grants: areShown, spent: maybe(areTexts), ledgers: areLedgers }),
  ),
  answered: maybe(isText),
  unheard: maybe(areTexts),
  isApart: isFlag,
  isPlain: isFlag,
  former: maybe(areTexts),
} satisfies Record<Exclude<keyof DeviceState, 'version'>, Check>)
