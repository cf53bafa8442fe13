/** The corners that are there for one guard each. Some begin in the middle of a history. */
import type { Corner } from './bounds.js'

const GRANTED = [
  'A page opens on device a.',
  'Device a sends a claim.',
  'The claim of device a arrives.',
  'The grant of 1–1 to device a arrives.',
]

const LEASED = [...GRANTED, 'Page 1 of device a asks its device for numbers.']

export const SINGLE: Record<string, Corner> = {
  'a worker that dies while a page asks for part of what is free': {
    small: { claims: 1, exchanges: 3, issues: 2, exits: 1, workerDeaths: 2 },
    full: { pages: 2, claims: 2, kills: 1, giveBacks: 1, silences: 1 },
  },
  'two copies of a profile that claim, and do not check in': {
    small: { range: 1, lease: 2, claims: 3, copies: 1 },
    full: { range: 2, claims: 4, losses: 1, repeats: 1 },
  },
  'two copies of a profile with two grants, of which one claims and one checks in': {
    before: [
      ...GRANTED,
      'Device a sends a claim.',
      'The claim of device a arrives.',
      'The grant of 2–2 to device a arrives.',
      'The profile of device a is copied.',
    ],
    small: { range: 1, lease: 3, claims: 3, checkIns: 1, copies: 1 },
    full: { claims: 4, checkIns: 2, exchanges: 2, issues: 2, losses: 1 },
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
    small: {
      range: 1,
      claims: 1,
      exchanges: 2,
      exits: 1,
      giveBacks: 1,
      checkIns: 2,
      copies: 1,
      writes: 1,
    },
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
  'a restored server with free numbers that a device holds': {
    before: [
      ...LEASED,
      'Page 1 of device a parks: it is hidden.',
      'Device a sends a claim.',
      'The claim of device a arrives.',
      'The grant of 2–2 to device a arrives.',
      'Page 1 of device a tells its device what it gave up.',
      "Page 1 of device a hears its device's answer.",
      'Page 1 of device a is left; its note is kept.',
      'The give-back of 1–1 arrives.',
      'Device a sends a check-in.',
      'The check-in of device a arrives.',
      "The answer to device a's check-in arrives.",
      'The server is backed up.',
      'Device a sends a claim.',
      'The claim of device a arrives.',
      'The grant of 1–1 to device a arrives.',
    ],
    small: {
      range: 1,
      lease: 3,
      claims: 4,
      exchanges: 2,
      exits: 1,
      giveBacks: 1,
      checkIns: 2,
      restores: 1,
    },
    full: { exchanges: 4, issues: 3, claims: 5 },
  },
}
