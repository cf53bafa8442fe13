/**
 * What holds in every state: no number has two owners, and none vanishes without a cause.
 */
import type { DeviceState } from '../../src/device/state.js'
import { readState } from '../../src/device/stored.js'
import { leasesOf } from './page-events.js'
import { numbersBetween, type OpenPage, type System } from './state.js'
import { isNewest } from './truth.js'

/**
 * What is wrong with a state, whatever led to it.
 * @param giveBacks how many a history may have: without any, no device meets its own numbers again
 */
export function broken(system: System, giveBacks: number): string | undefined {
  const { server, problem, issued, devices, excuses, left } = system
  if (problem !== undefined) return problem
  const isCopied = (number: number) => excuses.copied.includes(number)
  const isExcused = (number: number, by: readonly string[]) =>
    isCopied(number) ||
    (excuses.unknownToServer.includes(number) &&
      (left.giveBacks < giveBacks || new Set(by).size === by.length))
  for (const [number, by] of issued)
    if (by.length > 1 && !isExcused(number, by))
      return `${number} was issued twice: by ${by.join(' and by ')}.`
  const notExcused = (numbers: number) =>
    numbersIn(numbers).find(
      (number) => !isCopied(number) && !excuses.unknownToServer.includes(number),
    )
  let inUse = 0
  for (const { name, stored, pages } of devices) {
    const { refused, free } = soundnessOf(stored)
    if (refused !== undefined) return `What device ${name} stores cannot be used: ${refused}.`
    let held = free
    for (const [p, page] of pages.entries()) {
      const leased = leasedTo(page)
      const [both] = numbersIn(held & leased)
      if (both !== undefined)
        return `${both} is leased to page ${p + 1} of device ${name}, and elsewhere on it, too.`
      held |= leased
    }
    const twice = notExcused(inUse & held)
    if (twice !== undefined) return `${twice} is on device ${name}, and on another one.`
    inUse |= held
  }
  for (const [number] of issued) inUse |= bitsOf(number, number)
  const free = freeOnServer(system)
  const copied = system.truth.foundCopied.find((number) => (free >> number) & 1)
  if (copied !== undefined) return `${copied} is free on the server, though a copy may have it.`
  const both = notExcused(server.database.isRestored ? 0 : inUse & free)
  return both === undefined ? undefined : `${both} is in use, and free on the server.`
}

/** Numbers that this page may issue, now or when it hears its device's answer. */
function leasedTo({ holds, asked }: OpenPage): number {
  let numbers = 0
  for (const { lease, next } of leasesOf(holds)) numbers |= bitsOf(next, lease.range.to)
  for (const { request, answer, forks } of asked) {
    // The page voids an answer that was made before a fork of which it has heard.
    const isVoid = holds.dropped !== undefined && holds.dropped.fork !== forks
    if (holds.awaited.has(request.id) && !isVoid)
      for (const { range } of answer.leases) numbers |= bitsOf(range.from, range.to)
  }
  return numbers
}

const soundness = new WeakMap<DeviceState, { refused: string | undefined; free: number }>()

/** Most steps leave a device's state as it was, so each is looked at once. */
function soundnessOf(stored: DeviceState): { refused: string | undefined; free: number } {
  const known = soundness.get(stored)
  if (known) return known
  const read = readState(stored)
  const free = stored.ranges.reduce((bits, { from, to }) => bits | bitsOf(from, to), 0)
  const result = { refused: 'refused' in read ? read.refused : undefined, free }
  soundness.set(stored, result)
  return result
}

/** Sets of numbers are bits: 1 is the second one. Bounds are small enough for that. */
const MOST_NUMBERS = 30

function bitsOf(from: number, to: number): number {
  if (to > MOST_NUMBERS) throw new RangeError(`Bounds with numbers above ${MOST_NUMBERS}`)
  return to < from ? 0 : ((2 << to) - 1) & ~((1 << from) - 1)
}

function numbersIn(bits: number): number[] {
  if (bits === 0) return []
  return numbersBetween(0, MOST_NUMBERS).filter((number) => (bits >> number) & 1)
}

function freeOnServer({ server: { collection } }: System): number {
  let free = bitsOf(collection.max + 1, MOST_NUMBERS)
  for (const [low, high] of collection.free) free |= bitsOf(low, high)
  return free
}

/** Where every number is that is not issued: in the server's free list, on a device, on its way. */
export function places(system: System): number {
  const { server, devices, messages } = system
  let found = 0
  const put = (from: number, to: number) => {
    found |= bitsOf(from, to)
  }
  for (const [low, high] of server.collection.free) put(low, high)
  for (const { stored } of devices) {
    for (const { from, to } of stored.ranges) put(from, to)
    for (const { range } of stored.leases) put(range.from, range.to)
    // Without a token nobody can tell what became of an offer: it counts as lost when it is made.
    for (const { range } of stored.offers) if (range.token) put(range.from, range.to)
    if (stored.claim)
      for (const { claim, low, high } of server.grants)
        if (claim === stored.claim.id) put(low, high)
  }
  for (const message of messages) {
    // Under an older token the server ignores it.
    if (message.kind === 'give-back' && message.token && isNewest(system, message.token))
      put(message.last + 1, message.end)
    // With a token it is the answer to the claim that its device has stored, or it says nothing.
    if (message.kind === 'claim' && message.to === 'device' && 'low' in message.answer)
      if (!message.answer.token) put(message.answer.low, message.answer.high)
  }
  return found
}

/** Numbers that are neither anywhere nor issued any more, nor above all that are granted. */
export function lostBetween(before: number, after: System): string | undefined {
  let lost = before & ~places(after) & bitsOf(0, after.server.collection.max)
  for (const [number] of after.issued) lost &= ~(1 << number)
  return lost === 0 ? undefined : numbersIn(lost).join(', ')
}
