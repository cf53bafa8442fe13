/** What a run may contain: who takes part, and what may go wrong, and how often. */
import { boundsFrom } from '../../test/model/bounds.js'
import type { Bounds } from '../../test/model/state.js'

export interface Story {
  title: string
  /** What happens in it, for somebody who reads of it for the first time. */
  about: string
  bounds: Bounds
  /** A power cut takes back the newest transaction of the device, as without strict commits. */
  forgets?: true
}

export type StoryName = keyof typeof STORIES

const EVERY_DAY: Partial<Bounds> = {
  devices: 2,
  pages: 2,
  range: 4,
  lease: 2,
  claims: 5,
  issues: 14,
  exchanges: 16,
  exits: 3,
  kills: 2,
  giveBacks: 2,
  checkIns: 2,
  repeats: 2,
  losses: 2,
  powerCuts: 1,
}

export const STORIES = {
  network: {
    title: 'A bad network, and pages that crash',
    about:
      'Messages are lost, late, or arrive twice. Pages are left, frozen and killed, and one ' +
      'device loses its power.',
    bounds: boundsFrom(EVERY_DAY),
  },
  ravendb: {
    title: 'A RavenDB is the server',
    about:
      'The same with a RavenDB. It has no tokens, so more numbers become gaps, and none is ' +
      'issued twice.',
    bounds: boundsFrom({ ...EVERY_DAY, authority: 'ravendb', checkIns: 0 }),
  },
  copied: {
    title: 'A profile is copied',
    about:
      'Somebody clones a device with its storage. Both copies hold the same numbers, and both ' +
      'may issue them until the server finds the copy: a limit that the documentation names.',
    bounds: boundsFrom({ ...EVERY_DAY, devices: 1, copies: 1, checkIns: 4, kills: 1, exits: 1 }),
  },
  restored: {
    title: 'The server is restored from a backup',
    about:
      'The restored server does not know what it granted after the backup. It may grant that ' +
      'again until a token of a later grant proves it: a limit that the documentation names.',
    bounds: boundsFrom({
      ...EVERY_DAY,
      range: 3,
      claims: 7,
      restores: 1,
      checkIns: 1,
      kills: 1,
      exits: 1,
    }),
  },
  forgetful: {
    title: 'A guard is taken out: commits are not strict',
    about:
      'A power cut takes back what a device stored last, although the page already has its ' +
      'numbers. This shows what the guard is for, and that this page notices a duplicate.',
    bounds: boundsFrom({ ...EVERY_DAY, devices: 1, powerCuts: 3, losses: 0, exits: 0 }),
    forgets: true,
  },
} as const satisfies Record<string, Story>

export const storyOf = (name: StoryName): Story => STORIES[name]
export const isStory = (name: string): name is StoryName => Object.hasOwn(STORIES, name)
