/** A status's view of the record and of its failures. It never decides a number's owner. */
import type { Failure } from '../../core/errors.js'
import { total } from '../../core/range.js'
import type { SharedView } from '../contract.js'
import { surplus } from '../device.js'
import type { DeviceState, Stop } from '../state.js'
import { isShown } from '../stored.js'
import { kept, type Surroundings } from './lease.js'

export function show(state: DeviceState, around: Surroundings): SharedView {
  const { ranges, gaps, checkedIn, serverTag, nodes, isReleased, stopped, followed, ledgers } =
    state
  return {
    // Numbers that wait for a person's decision serve nobody.
    free: stopped ? 0 : total(ranges),
    reserve: around.reserve,
    surplus: surplus(state, kept(state, around)),
    gaps,
    ...(checkedIn !== undefined && { checkedIn }),
    ...(serverTag !== undefined && around.isHeard && { serverTag }),
    ...(isReleased && { isReleased }),
    ...(nodes && nodes.length > 1 && { mixedNodes: nodes }),
    ...(stopped && { stopped }),
    ...(followed && { followed }),
    ...(ledgers && { ledgers }),
  }
}

/**
 * Another tab's transaction changed this device's numbers, perhaps before the last one of this tab:
 * messages and transactions come in any order.
 */
export function heardElsewhere(mine: SharedView, shared: unknown): SharedView {
  const { serverTag, mixedNodes } = mine
  // guard: H17 a page uses no view that it would misread
  if (!isShown(shared)) return mine
  return {
    // guard: H10 an older message of another tab does not hide that two nodes have granted
    mixedNodes,
    ...shared,
    // guard: H9 where two tabs name two nodes, none is known to have answered last
    serverTag: shared.serverTag === serverTag ? serverTag : undefined,
  }
}

/**
 * The failure of the stored ranges in one transaction, for people.
 * @param refused why the record could not be used
 */
export function noticeOf(
  before: DeviceState,
  { gaps, followed }: DeviceState,
  refused?: string,
): Failure | undefined {
  if (followed && followed !== before.followed) return wentOn(followed)
  if (gaps.fork > before.gaps.fork) return FORKED
  if (gaps.drop > before.gaps.drop) return DROPPED
  return refused === undefined ? undefined : unusable(refused)
}

const unusable = (why: string): Failure => ({
  code: 'storage-failed',
  message: `The stored ranges could not be used: ${why}. They are set aside; new ones are claimed.`,
})

const wentOn = ({ of, by, numbers }: Stop): Failure => ({
  code: 'other-ledger',
  message:
    `Ids come from ledger ${by} now, in place of ${of}. ${numbers} numbers of that one were ` +
    'dropped here. Ids that were made of it stay.',
})

const FORKED: Failure = {
  code: 'forked',
  message:
    'The storage of this device is a copy: another copy of it has checked in before. Its ranges ' +
    'were dropped, and new ones are claimed. Ids made since the copy was taken may exist ' +
    'twice: compare them.',
}

const DROPPED: Failure = {
  code: 'dropped',
  message:
    'The server has dropped this collection (command `drop`). The ranges here were ' +
    'dropped, too, and new ones are claimed. No id was made twice. If the collection should be ' +
    'gone, the app makes no more ids in it.',
}
