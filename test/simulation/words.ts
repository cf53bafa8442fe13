/**
 * Words: events that happen in some schedules beside the moves. Each word draws its chances from a
 * stream of its own, so a schedule in which it does not occur stays the same. A word that shows a
 * fault of the product is switched off until that is mended: known-faults.ts.
 */
import { ledgerAnew, replica } from './another-ledger.js'
import { anotherName } from './another-name.js'
import { bound, row } from './bound-counter.js'
import { clockWithDisk } from './clock-with-disk.js'
import { closings } from './closings.js'
import { crashAtCommit } from './crash-at-commit.js'
import { crowded } from './crowded.js'
import type { Device } from './device.js'
import {
  deadConnection,
  lateStorage,
  prerendered,
  twoOptions,
  workerLostOffline,
} from './device-edges.js'
import { drop } from './drop.js'
import { editedReceipts, editedRecords } from './edited-records.js'
import { forgottenHandOver } from './forgotten-hand-over.js'
import { forgottenTag } from './forgotten-tag.js'
import { fullLocalStorage } from './full-local-storage.js'
import { hook } from './hook-counter.js'
import { idForms } from './id-forms.js'
import { KNOWN_FAULTS, type KnownFault } from './known-faults.js'
import { oneWay } from './one-way.js'
import { otherOptions } from './other-options.js'
import type { Profile } from './profile.js'
import { createRandom, type Random } from './random.js'
import { ravenReplaced } from './raven-replaced.js'
import { region } from './regions.js'
import { renewSecret } from './renew-secret.js'
import { serverClock } from './server-clock.js'
import { cache, repeatingRelay } from './shared-cache.js'
import type { Simulation } from './simulation.js'
import { sleep } from './sleep.js'
import { twoHomes } from './two-homes.js'

export interface Word {
  /** In which worlds may it happen? */
  fits(profile: Profile): boolean
  /** Only where it is asked for: beside other words the checker does not know what may happen. */
  isAlone?: true
  /** What is different in a world in which it may happen. */
  world?(profile: Profile, random: Random): Partial<Profile>
  /** It happens now. Called after some of the moves, each time for one device. */
  happens(simulation: Simulation, device: Device, random: Random): void
  /** All faults end. */
  heal?(simulation: Simulation): void
}

const WORDS = {
  'another-name': anotherName,
  bound,
  cache,
  region,
  'clock-with-disk': clockWithDisk,
  closings,
  'crash-at-commit': crashAtCommit,
  crowded,
  'dead-connection': deadConnection,
  drop,
  'edited-receipts': editedReceipts,
  'edited-records': editedRecords,
  'forgotten-hand-over': forgottenHandOver,
  'forgotten-tag': forgottenTag,
  'full-local-storage': fullLocalStorage,
  hook,
  'id-forms': idForms,
  'late-storage': lateStorage,
  'ledger-anew': ledgerAnew,
  'one-way': oneWay,
  prerendered,
  'raven-replaced': ravenReplaced,
  'renew-secret': renewSecret,
  'repeating-relay': repeatingRelay,
  replica,
  row,
  'server-clock': serverClock,
  sleep,
  'two-homes': twoHomes,
  'two-options': twoOptions,
  'worker-lost-offline': workerLostOffline,
  // After those in which a back end counts, which has no other database.
  'other-options': otherOptions,
} satisfies Record<string, Word>

export type WordName = keyof typeof WORDS

/** Of the worlds that it fits, one in this many has a word. */
const EVERY = 8
/** After how many moves it happens. */
const MOVES = 8

/** The words of one schedule. */
export class Words {
  /** The world of this seed, as its words change it. */
  readonly profile: Profile
  readonly #spoken: { word: Word; random: Random }[] = []

  /**
   * @param only the words, in every world that they fit. Absent: all that show no known fault, now
   * and then
   */
  constructor(seed: number, profile: Profile, only?: readonly WordName[]) {
    this.profile = profile
    for (const [name, word] of Object.entries(WORDS) as [WordName, Word][]) {
      const random = createRandom(seed, streamOf(name))
      const isChosen = random.chance(1 / EVERY)
      const isDrawn = isChosen && !word.isAlone && !(name in KNOWN_FAULTS)
      const isOn = only ? only.includes(name) : isDrawn
      if (!isOn || !word.fits(this.profile)) continue
      this.profile = { ...this.profile, ...word.world?.(this.profile, random) }
      this.#spoken.push({ word, random })
    }
  }

  /** May any of them happen? */
  get areSpoken(): boolean {
    return this.#spoken.length > 0
  }

  /** A move was made. */
  moved(simulation: Simulation): void {
    for (const { word, random } of this.#spoken)
      if (random.chance(1 / MOVES))
        word.happens(simulation, random.pick(simulation.devices), random)
  }

  heal(simulation: Simulation): void {
    for (const { word } of this.#spoken) word.heal?.(simulation)
  }
}

/** @throws Error when there is no such word */
export function wordNamed(name: string): WordName {
  if (name in WORDS) return name as WordName
  throw new Error(`There is no word ${name}. The words are: ${Object.keys(WORDS).join(', ')}.`)
}

export const knownFaults = (): [WordName, KnownFault][] =>
  Object.entries(KNOWN_FAULTS).map(([name, fault]) => [wordNamed(name), fault])

/** FNV-1a: another stream for each name. */
const streamOf = (name: string): number =>
  [...name].reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), 0x01000193), 0x811c9dc5)
