/**
 * Reads the state that an earlier session stored, and runs each step on it. Storage is not trusted:
 * a record that was cut short, or in which one number has two owners, is refused whole, with the
 * reason, so that it can be set aside and the device claims anew. No step makes such a record. The
 * record of a newer version is left alone.
 */
import { HiloError } from '../core/errors.js'
import type { Range } from '../core/range.js'
import { settle } from './device.js'
import type { Change } from './device-store.js'
import {
  type DeviceState,
  emptyState,
  type GrantedRange,
  type Note,
  STATE_VERSION,
} from './state.js'

/**
 * The stored state (`undefined`: nothing stored yet), or why it cannot be used.
 * @throws HiloError `outdated` for the record of a newer version
 */
export function readState(stored: unknown): { state: DeviceState } | { refused: string } {
  if (stored === undefined) return { state: emptyState() }
  if (!isObject(stored)) return { refused: 'it is not an object' }
  // guard: H17 storage of a newer version is left alone
  if (typeof stored.version === 'number' && stored.version > STATE_VERSION)
    throw new HiloError(
      'outdated',
      `The stored ids of this device have version ${stored.version}, and this package ` +
        `knows ${STATE_VERSION}: a newer offline-hilo was here. Load that version; no id was ` +
        'made, and what is stored stays as it is.',
    )
  if (stored.version !== STATE_VERSION)
    return {
      refused: `its version is ${String(stored.version)}, this package knows ${STATE_VERSION}`,
    }
  const {
    ranges,
    leases,
    offers,
    claim,
    reserve,
    declared,
    sinceGrant,
    serverTag,
    nodes,
    issued,
    gaps,
    grants,
    checkIn,
    checkedIn,
    answered,
    unheard,
    isReleased,
    isApart,
    isPlain,
    ledgers,
    stopped,
    followed,
    former,
  } = stored
  const isSound =
    isListOf(ranges, isRange) &&
    isListOf(leases, isHeldByPage) &&
    isListOf(offers, isHeldByPage) &&
    (claim === undefined ||
      (isObject(claim) &&
        isText(claim.id) &&
        isCount(claim.lastBatchSize) &&
        isCount(claim.lastMax) &&
        (claim.shown === undefined || areShown(claim.shown)))) &&
    (reserve === undefined || isCount(reserve)) &&
    (declared === undefined ||
      isListOf(declared, (each) => isCount(each.reserve) && isTime(each.day))) &&
    (sinceGrant === undefined ||
      (isObject(sinceGrant) && isTime(sinceGrant.at) && isCount(sinceGrant.issued))) &&
    (serverTag === undefined || isText(serverTag)) &&
    [nodes, unheard, former].every((each) => each === undefined || areTexts(each)) &&
    isCount(issued) &&
    isObject(gaps) &&
    [gaps.crash, gaps.giveBack, gaps.fork, gaps.drop].every(isCount) &&
    (checkIn === undefined ||
      (isObject(checkIn) && isText(checkIn.id) && areShown(checkIn.grants))) &&
    areTexts(grants) &&
    (checkedIn === undefined || isTime(checkedIn)) &&
    (answered === undefined || isText(answered)) &&
    [isReleased, isApart, isPlain].every((is) => is === undefined || is === true) &&
    (ledgers === undefined || (isObject(ledgers) && Object.values(ledgers).every(isText))) &&
    [stopped, followed].every((each) => each === undefined || isStop(each))
  if (!isSound) return { refused: 'fields are missing or have the wrong type' }

  const state = stored as unknown as DeviceState
  const twice = heldTwice(state)
  // guard: H17 a record in which a number has two owners is refused
  if (twice) return { refused: `${twice.from}–${twice.to} has two owners` }
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
  stored: unknown,
  notes: readonly Note[],
  change: (before: DeviceState) => [state: DeviceState, result: T],
): Step<T> {
  const read = readState(stored)
  const isRefused = 'refused' in read
  const before = settle(isRefused ? emptyState() : read.state, notes)
  const [state, result] = change(before)
  // guard: H17 a state in which a number has two owners is not stored
  if (state !== stored && heldTwice(state)) throw new HiloError('storage-failed', TWO_OWNERS)
  return { before, state, result, ...(isRefused && { refused: read.refused, setAside: stored }) }
}

/**
 * Is this a grant of the collection whose ids begin with `prefix`? An app's own source may answer
 * anything. It cannot check in, so it has no tokens.
 */
export const isGrant = (grant: unknown, prefix: string): grant is GrantedRange =>
  isObject(grant) &&
  isObject(grant.range) &&
  isRange(grant.range) &&
  grant.range.prefix.startsWith(prefix) &&
  !grant.range.token

/** A range that overlaps another one of its prefix and server tag: its numbers have two owners. */
function heldTwice({ ranges, leases, offers }: DeviceState): Range | undefined {
  const ends = new Map<string, number>()
  return [...ranges, ...[...leases, ...offers].map(({ range }) => range)]
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

type Fields = Record<string, unknown>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0
/** A time of a device's clock, which may stand before 1970. */
const isTime = (value: unknown): boolean => Number.isFinite(value)
const isListOf = (value: unknown, isItem: (item: Fields) => boolean): boolean =>
  Array.isArray(value) && value.every((item) => isObject(item) && isItem(item))
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const areShown = (grants: unknown): boolean =>
  isListOf(grants, ({ token, next }) => isText(token) && isCount(next))
const isStop = (stop: unknown): boolean =>
  isObject(stop) &&
  [stop.of, stop.by, stop.tag].every(isText) &&
  isTime(stop.at) &&
  isCount(stop.numbers)
const isHeldByPage = (item: Fields): boolean =>
  isText(item.id) && isText(item.page) && isObject(item.range) && isRange(item.range)
export const isRange = (range: Fields | Range): range is Range =>
  isCount(range.from) &&
  isCount(range.to) &&
  range.from <= range.to &&
  isText(range.prefix) &&
  isText(range.serverTag) &&
  (range.token === undefined || isText(range.token))
