/**
 * What devices do beside their pages: they claim, check in, apply the answers, write dead pages
 * off, lose their power, and are copied.
 */
import { total } from '../../src/core/range.js'
import { applyCheckIn, beginCheckIn } from '../../src/device/check-in.js'
import { beginClaim, dropClaim } from '../../src/device/claim.js'
import { settle } from '../../src/device/device.js'
import { granted as afterGrant } from '../../src/device/owner/claiming.js'
import type { DeviceState, Note } from '../../src/device/state.js'
import { writeOffPages } from '../../src/device/write-off.js'
import { hearOfFork, RESERVE } from './page-events.js'
import {
  type Device,
  type Message,
  merged,
  numbersBetween,
  numbersOf,
  type System,
  send,
  spend,
  withDevice,
} from './state.js'

const PREFIX = 'orders/'

export function writeOff(system: System, d: number): System {
  const { dead } = system.devices[d]!
  const without = withDevice(system, d, (device) => ({ ...device, dead: [] }))
  return writtenOff(without, d, dead)
}

/** A page that is busy, or in the cache, lives, and does not answer in time. */
export function takeForDead(system: System, d: number, p: number): System | undefined {
  if (system.left.silences === 0) return undefined
  return writtenOff(spend(system, 'silences'), d, [system.devices[d]!.pages[p]!.id])
}

function writtenOff(system: System, d: number, pages: readonly string[]): System {
  return stored(system, d, (state) => writeOffPages(state, new Set(pages)))
}

/** Every transaction is strict, so what is stored stays. Notes are not waited for. */
export function cutPower(system: System, d: number, local: Note[]): System {
  return withDevice(spend(system, 'powerCuts'), d, (device) => ({
    ...device,
    pages: [],
    notes: [],
    local,
    dead: [...device.dead, ...device.pages.map(({ id }) => id)],
  }))
}

export function sendClaim(
  system: System,
  d: number,
  lease: number,
  newId: () => string,
): System | undefined {
  const device = system.devices[d]!
  if (system.left.claims === 0) return undefined
  const settled = settle(device.stored, device.notes)
  const { state, claim } = beginClaim(settled, newId(), lease, RESERVE, 0)
  if (!claim || total(settled.ranges) >= lease) return undefined
  const isUnderWay = system.messages.some(
    (message) =>
      (message.kind === 'write' && message.id === claim.id) ||
      (message.kind === 'claim' &&
        (message.to === 'server' ? message.request.id : message.id) === claim.id),
  )
  if (isUnderWay) return undefined
  const sending = stored(spend(system, 'claims'), d, () => state)
  return send(sending, { to: 'server', kind: 'claim', device: d, request: claim })
}

export function sendCheckIn(system: System, d: number, newId: () => string): System | undefined {
  const device = system.devices[d]!
  if (system.left.checkIns === 0) return undefined
  const { state, request } = beginCheckIn(settle(device.stored, device.notes), newId())
  if (!request) return undefined
  const isUnderWay = system.messages.some(
    (message) =>
      message.kind === 'check-in' &&
      (message.to === 'server' ? message.request.id : message.id) === request.id,
  )
  if (isUnderWay) return undefined
  const sending = withoutPair(
    stored(spend(system, 'checkIns'), d, () => state),
    d,
  )
  return send(sending, { to: 'server', kind: 'check-in', device: d, request })
}

/** The profile is copied, with its storage and without its pages. */
export function copy(system: System, d: number): System | undefined {
  if (system.left.copies === 0) return undefined
  const device = system.devices[d]!
  const name = String.fromCharCode(97 + system.devices.length)
  const twin: Device = { ...device, name, pages: [], dead: device.pages.map(({ id }) => id) }
  const after = spend(system, 'copies')
  const { claim, checkIn, grants } = device.stored
  const claimed = system.server.grants
    .filter((grant) => grant.claim === claim?.id)
    .flatMap(({ low, firstHigh }) => numbersBetween(low, firstHigh))
  const copied = merged(after.excuses.copied, [...numbersOf(device), ...claimed])
  const isPair = grants.length > 0 && !claim && !checkIn
  const pair = isPair ? { names: [device.name, name], granted: [] } : after.truth.pair
  const copiedClaims = [...after.excuses.copiedClaims, ...(claim ? [claim.id] : [])]
  return {
    ...after,
    devices: [...after.devices, twin],
    excuses: { ...after.excuses, copied, copiedClaims },
    truth: { ...after.truth, pair },
  }
}

export function hearAnswer(system: System, message: Extract<Message, { to: 'device' }>): System {
  const { device: d, id } = message
  const before = system.devices[d]!.stored
  const after =
    message.kind === 'check-in'
      ? stored(system, d, (state) => applyCheckIn(state, id, message.answer, 0))
      : stored(system, d, (state) => granted(state, message))
  const asked = message.kind === 'check-in' ? before.checkIn : before.claim
  const results = 'grants' in message.answer ? message.answer.grants : resultsOf(message.answer)
  const told = asked?.id === id ? ('grants' in asked ? asked.grants : asked.shown) : undefined
  const lost = told?.find((_, i) => results[i] && 'superseded' in results[i])
  const heard =
    before.gaps.fork === after.devices[d]!.stored.gaps.fork ? after : hearOfFork(after, d)
  const { ranges, leases } = heard.devices[d]!.stored
  const isHeld = [...ranges, ...leases.map(({ range }) => range)].some(
    ({ token }) => lost !== undefined && token === lost.token,
  )
  if (isHeld) return { ...heard, problem: 'A copy goes on with what it was told to drop.' }
  if (lost) return withoutPair(heard, d)
  const isGranted = message.kind === 'claim' && 'low' in message.answer && asked?.id === id
  return isGranted ? withGranted(heard, d) : heard
}

/** Nobody was told: the second of two copies that is granted numbers has to be. */
function withGranted(system: System, d: number): System {
  const { name } = system.devices[d]!
  const { pair } = system.truth
  if (!pair?.names.includes(name) || pair.granted.includes(name)) return system
  if (pair.granted.length > 0)
    return { ...system, problem: 'Both copies of a profile were granted numbers; none was told.' }
  return { ...system, truth: { ...system.truth, pair: { ...pair, granted: [name] } } }
}

function withoutPair(system: System, d: number): System {
  const { pair } = system.truth
  if (!pair?.names.includes(system.devices[d]!.name)) return system
  return { ...system, truth: { ...system.truth, pair: undefined } }
}

const resultsOf = (answer: Extract<Message, { to: 'device'; kind: 'claim' }>['answer']) =>
  'refused' in answer ? [] : answer.results

function granted(
  before: DeviceState,
  { id, answer }: Extract<Message, { to: 'device'; kind: 'claim' }>,
): DeviceState {
  if ('refused' in answer) return dropClaim(before, id)
  const { low, high, token, results } = answer
  const range = { from: low, to: high, prefix: PREFIX, serverTag: 'A', ...(token && { token }) }
  return afterGrant(before, id, { range, results }, 0)[0]
}

/** One transaction of the device: it settles the notes that pages left, too. */
const stored = (system: System, d: number, change: (state: DeviceState) => DeviceState): System =>
  withDevice(system, d, (device) => ({
    ...device,
    stored: change(settle(device.stored, device.notes)),
    notes: [],
  }))
