/**
 * How a failed request affects the next one: a single table for claims and check-ins. The page
 * learns from it whether its callers may go on waiting.
 */
import type { Failure } from './errors.js'

/**
 * - `same`: the same request is sent again later. It was lost, or the server is busy.
 * - `fresh`: this claim will never be granted, but a new one is sent.
 * - `smaller`: as `fresh`, and for fewer numbers: those may be granted.
 * - `forget`: this claim will never be granted. A new one is sent when the app asks again.
 * - `stop`: the same request is sent when the app asks again. Somebody has to correct something.
 */
export type NextStep = 'same' | 'fresh' | 'smaller' | 'forget' | 'stop'

const BY_STATUS: Record<number, NextStep> = {
  401: 'stop',
  404: 'stop',
  405: 'stop',
  408: 'same',
  // The numbers of this claim are in use: this device is a copy of the one that got them.
  410: 'fresh',
  425: 'same',
  429: 'same',
}

export function nextStep(failure: Failure): NextStep {
  const { code, status = 0 } = failure
  if (isNoAnswer(failure)) return 'same'
  if (failure.ledger) return 'stop'
  // The last numbers below 2^53 may still be enough for a smaller claim.
  if (code === 'unsafe-range' || failure.isTooMany) return 'smaller'
  // A counter that contradicts itself, or the ranges of this device.
  if (code === 'invalid-response') return 'forget'
  if (code !== 'server-refused') return 'stop'
  if (status >= 500) return 'same'
  return BY_STATUS[status] ?? (status >= 400 ? 'forget' : 'stop')
}

/** Is the request repeated without anybody asking? Then a caller without a timeout waits on. */
export function isRepeated(failure: Failure): boolean {
  return ['same', 'fresh'].includes(nextStep(failure))
}

/**
 * Did no HiLo server answer? The sign-in page of a hotel's network, and the offline page of a
 * service worker, come with status 200. Then the device counts as offline.
 */
export const isNoAnswer = ({ code, noAnswer }: Failure): boolean =>
  // guard: H25 what is no HiLo answer is as good as none
  noAnswer === true || code === 'server-unreachable'
