/**
 * The corners of the system that are explored, each within bounds that can be explored to the end.
 * A bound says how often an event may happen in one history.
 */
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
  writes: 0,
}

interface Corner {
  /** What has happened before: it counts, too. Without it, the interesting part is too far away. */
  before?: readonly string[]
  small: Partial<Bounds>
  full: Partial<Bounds>
}

const LEASED = [
  'A page opens on device a.',
  'Device a sends a claim.',
  'The claim of device a arrives.',
  'The grant of 1–1 to device a arrives.',
  'Page 1 of device a asks its device for numbers.',
]

/**
 * The corners that are explored, by name: how often each event happens in `npm test`, and how often
 * more at full size.
 */
export const CORNERS: Record<string, Corner> = {
  'one page, every message lost, late or twice': {
    small: { claims: 2, exchanges: 2, issues: 2, checkIns: 1, repeats: 1, losses: 1 },
    full: { pages: 2, exits: 1, checkIns: 2, issues: 3, kills: 1, workerDeaths: 1 },
  },
  'two pages that come, go and are killed': {
    small: { pages: 2, claims: 1, exchanges: 2, issues: 2, exits: 1, kills: 1, losses: 1 },
    full: { exchanges: 3, exits: 2, issues: 3, lease: 2, claims: 2, silences: 1 },
  },
  'workers that die, and pages that live and do not answer': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 2,
      issues: 2,
      exits: 1,
      giveBacks: 1,
      checkIns: 1,
      workerDeaths: 1,
      silences: 1,
    },
    full: { pages: 2, claims: 2, exchanges: 3, checkIns: 2, kills: 1, repeats: 1, losses: 1 },
  },
  'a worker that dies while a page asks for part of what is free': {
    small: { claims: 1, exchanges: 3, issues: 2, exits: 1, workerDeaths: 2 },
    full: { pages: 2, claims: 2, kills: 1, giveBacks: 1, silences: 1 },
  },
  'notes that one place loses, and a power cut': {
    small: { claims: 1, lease: 2, exchanges: 3, issues: 2, exits: 2, powerCuts: 1 },
    full: { pages: 2, claims: 2, losses: 1, kills: 1, giveBacks: 1, exchanges: 4 },
  },
  'surplus that goes back under a token, late and twice': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 2,
      issues: 1,
      exits: 1,
      giveBacks: 1,
      checkIns: 1,
      repeats: 1,
    },
    full: { pages: 2, exits: 2, claims: 2, giveBacks: 2, exchanges: 3, issues: 2, losses: 1 },
  },
  'surplus that goes back by the protocol of RavenDB alone': {
    small: {
      authority: 'plain',
      lease: 2,
      claims: 2,
      exchanges: 2,
      issues: 1,
      exits: 1,
      giveBacks: 1,
      repeats: 1,
    },
    full: { devices: 2, exchanges: 3, issues: 2, exits: 2, giveBacks: 2 },
  },
  'surplus that goes back to a RavenDB, to two devices': {
    small: {
      authority: 'ravendb',
      devices: 2,
      lease: 2,
      claims: 2,
      exchanges: 2,
      issues: 2,
      exits: 1,
      giveBacks: 1,
      losses: 1,
    },
    full: { exchanges: 4, issues: 3, exits: 2, giveBacks: 2, repeats: 1, claims: 3 },
  },
  'answers of a RavenDB that come twice, after their numbers were issued': {
    small: { authority: 'plain', range: 1, claims: 2, exchanges: 3, issues: 2, repeats: 1 },
    full: { pages: 2, exchanges: 4, issues: 3, claims: 3, exits: 1, kills: 1 },
  },
  'a counter of the app’s own, asked by two devices': {
    small: {
      authority: 'counter',
      devices: 2,
      claims: 2,
      exchanges: 2,
      issues: 2,
      repeats: 1,
      losses: 1,
    },
    full: { claims: 3, exchanges: 4, issues: 4, exits: 1, kills: 1, powerCuts: 1 },
  },
  'a document that two devices write, as with RavenDB 2 and 3': {
    small: {
      authority: 'document',
      devices: 2,
      claims: 2,
      exchanges: 2,
      issues: 2,
      repeats: 1,
      losses: 1,
    },
    full: { claims: 3, exchanges: 4, issues: 4, exits: 1, kills: 1, powerCuts: 1 },
  },
  'somebody sets the document back, or gives back what is not his': {
    small: {
      claims: 3,
      exchanges: 2,
      issues: 2,
      checkIns: 1,
      prunes: 1,
      forgeries: 1,
      writes: 1,
    },
    full: { devices: 2, lease: 2, exits: 1, giveBacks: 1, exchanges: 3, repeats: 1, losses: 1 },
  },
  'a profile that is copied while it is in use': {
    small: { claims: 2, exchanges: 2, issues: 2, checkIns: 1, copies: 1 },
    full: { exchanges: 3, issues: 3, checkIns: 2, kills: 1, exits: 1, giveBacks: 1 },
  },
  'two copies of a profile that claim, and do not check in': {
    small: { range: 1, lease: 2, claims: 3, copies: 1 },
    full: { range: 2, claims: 4, losses: 1, repeats: 1 },
  },
  'a copy of a device that has issued all of its grant': {
    before: [
      ...LEASED,
      "Page 1 of device a hears its device's answer.",
      'Page 1 of device a issues a number.',
    ],
    small: { range: 1, claims: 1, exchanges: 2, issues: 1, checkIns: 2, copies: 1 },
    full: { claims: 2, repeats: 1 },
  },
  'a copy of a device that gives its surplus back': {
    before: [
      ...LEASED,
      'Page 1 of device a parks: it is hidden.',
      'The profile of device a is copied.',
      'Device a sends a check-in.',
      'Device b sends a check-in.',
    ],
    small: { range: 1, claims: 1, exchanges: 2, exits: 1, giveBacks: 1, checkIns: 2, copies: 1 },
    full: { claims: 3, exchanges: 3 },
  },
  'parts of a grant that come back out of order': {
    small: { pages: 2, claims: 1, exchanges: 3, exits: 1, giveBacks: 1 },
    full: { claims: 2, exits: 2, giveBacks: 2, repeats: 1 },
  },
  'a restored server to which numbers come back': {
    before: [
      ...LEASED,
      'Page 1 of device a parks: it is hidden.',
      'Device a sends a claim.',
      'The claim of device a arrives.',
      'The grant of 2–2 to device a arrives.',
      'The server is backed up.',
      'Device a sends a claim.',
      'The claim of device a arrives.',
      'The grant of 3–3 to device a arrives.',
      'Page 1 of device a tells its device what it gave up.',
      "Page 1 of device a hears its device's answer.",
      'Page 1 of device a is left; its note is kept in localStorage.',
      'Device a sends a check-in.',
      'The server is restored from its backup.',
    ],
    small: {
      range: 1,
      lease: 5,
      claims: 4,
      exchanges: 2,
      exits: 1,
      giveBacks: 1,
      checkIns: 1,
      restores: 1,
    },
    full: { claims: 5, checkIns: 2 },
  },
  'a server that is restored from a backup': {
    small: { claims: 2, exchanges: 2, issues: 2, checkIns: 1, restores: 1 },
    full: { devices: 2, claims: 3, issues: 3, exchanges: 3, kills: 1 },
  },
  'a server that forgets old grants': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 2,
      issues: 2,
      checkIns: 1,
      exits: 1,
      giveBacks: 1,
      prunes: 1,
    },
    full: { pages: 2, claims: 2, exchanges: 3, checkIns: 2, repeats: 1, losses: 1, copies: 1 },
  },
}

export const boundsOf = (corner: string, size: 'small' | 'full'): Bounds => {
  const { small, full } = CORNERS[corner]!
  return { ...NONE, ...small, ...(size === 'full' && full) }
}

/** @param asked numbers by the name of their bound, as the command line has them */
export const boundsFrom = (asked: Partial<Bounds>): Bounds => ({ ...NONE, ...asked })
