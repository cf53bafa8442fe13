/** How long a ledger remembers what may be forgotten, and how often it forgets. */
import { z } from 'zod'
import type { Pruning } from './ledger.js'

const DAY_MS = 24 * 60 * 60 * 1000
export const PRUNE_INTERVAL_MS = DAY_MS
/** No request is repeated after so many days. */
const SETTLED_DAYS = 30
export const DEFAULT_HORIZON_DAYS = 400
const MAX_HORIZON_DAYS = 36_500

export const horizon = z
  .number('has to be a number of days')
  .min(SETTLED_DAYS, `has to be at least ${SETTLED_DAYS} days`)
  .max(MAX_HORIZON_DAYS, `has to be at most ${MAX_HORIZON_DAYS} days`)

/** What is old enough at this time. */
export const pruningAt = (now: number, horizonDays: number): Pruning => ({
  settledBefore: now - SETTLED_DAYS * DAY_MS,
  heardBefore: now - horizonDays * DAY_MS,
})
