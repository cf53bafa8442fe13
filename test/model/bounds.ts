/**
 * The corners of the system that are explored, each within bounds that can be explored to the end.
 * A bound says how often an event may happen in one history.
 */
import { MIXED } from './corners.js'
import { SINGLE } from './single-corners.js'
import type { Bounds } from './state.js'

const NONE: Bounds = {
  devices: 1,
  pages: 1,
  range: 2,
  lease: 1,
  authority: 'own',
  claims: 0,
  issues: 0,
  exchanges: 0,
  exits: 0,
  kills: 0,
  giveBacks: 0,
  checkIns: 0,
  repeats: 0,
  losses: 0,
  copies: 0,
  restores: 0,
  powerCuts: 0,
  prunes: 0,
  workerDeaths: 0,
  silences: 0,
  forgeries: 0,
  cuts: 0,
  writes: 0,
}

export interface Corner {
  /** What has happened before: it counts, too. Without it, the interesting part is too far away. */
  before?: readonly string[]
  small: Partial<Bounds>
  full: Partial<Bounds>
}

/**
 * The corners that are explored, by name: how often each event happens in `npm test`, and how often
 * more at full size.
 */
export const CORNERS: Record<string, Corner> = { ...MIXED, ...SINGLE }

export const boundsOf = (corner: string, size: 'small' | 'full'): Bounds => {
  const { small, full } = CORNERS[corner]!
  return { ...NONE, ...small, ...(size === 'full' && full) }
}

/** @param asked numbers by the name of their bound, as the command line has them */
export const boundsFrom = (asked: Partial<Bounds>): Bounds => ({ ...NONE, ...asked })
