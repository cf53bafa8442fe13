/**
 * A working day of many devices, as a list of events for each. It is the same for every package
 * that makes the ids.
 */
import type { Random } from '../test/simulation/random.js'

type What =
  | 'open'
  /** Some records are saved, each with an id. */
  | 'save'
  /** Another app or tab comes to the front, this one goes on in the background. */
  | 'hide'
  | 'show'
  | 'reload'
  | 'close'
  /** The app is killed without notice: a crash, or the system needs memory. */
  | 'die'
  /** While no app runs, the device's profile is replaced by a copy of another device's. */
  | 'copy'
  | 'offline'
  | 'online'

export interface Happening {
  /** Milliseconds since the day began. */
  at: number
  device: number
  what: What
  /** Of `save`. */
  ids: number
  /** Of `copy`: the device whose profile is copied. */
  from?: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
export const DAY_MS = 12 * HOUR

/** One in this many devices has no network for minutes to hours. */
const IN_THE_FIELD = 0.4
/** Something happens to an app in use every few minutes. */
const MEAN_PAUSE_MS = 5 * MINUTE
const KILLED_WHILE_HIDDEN = 0.08
/** One in this many devices gets a copy of another device's profile during the day. */
const COPIED = 0.02

/** An import saves this many lines, then the next. */
const LINES_PER_STEP = 20
const STEP_MS = 20

export function fleetDay(devices: number, random: Random): Happening[] {
  const days = Array.from({ length: devices }, (_, device) => deviceDay(device, random))
  const copies = days.flatMap((day) => (random.chance(COPIED) ? [copyIn(day, devices)] : []))
  return [...copies, ...days.flat()].sort((a, b) => a.at - b.at)
}

/** Before the app of this device is opened in the middle of the day. */
function copyIn(day: readonly Happening[], devices: number): Happening {
  const opened = day.filter(({ what }) => what === 'open')
  const { at, device } = opened[Math.floor(opened.length / 2)]!
  return { at: at - 1, device, what: 'copy', ids: 0, from: (device + 1) % devices }
}

/** Pages that are open for two minutes, and make one id. */
export function terminalDay(devices: number, loads: number, random: Random): Happening[] {
  const pause = DAY_MS / loads
  return Array.from({ length: devices * loads }, (_, i): Happening[] => {
    const device = i % devices
    const at = Math.floor((Math.floor(i / devices) + 0.8 * random.next()) * pause)
    return [
      { at, device, what: 'open', ids: 0 },
      { at: at + 1_000, device, what: 'save', ids: 1 },
      { at: at + 2 * MINUTE, device, what: 'close', ids: 0 },
    ]
  })
    .flat()
    .sort((a, b) => a.at - b.at)
}

/**
 * Each device imports a file once, in some seconds, with an id for each of its lines. Before and
 * after, somebody saves a record now and then.
 */
export function importDay(devices: number, lines: number, random: Random): Happening[] {
  const imports = Array.from({ length: devices }, (_, device): Happening[] => {
    const begin = random.between(3 * HOUR, 5 * HOUR)
    const steps = random.between(1, 2 * Math.ceil(lines / LINES_PER_STEP))
    return Array.from({ length: steps }, (_, step): Happening => {
      const at = begin + step * STEP_MS
      return { at, device, what: 'save', ids: LINES_PER_STEP }
    })
  })
  return [...fleetDay(devices, random), ...imports.flat()].sort((a, b) => a.at - b.at)
}

/** One working day after the other. */
export function fleetDays(days: number, devices: number, random: Random): Happening[] {
  return Array.from({ length: days }, (_, day) =>
    fleetDay(devices, random).map((each) => ({ ...each, at: each.at + day * DAY_MS })),
  ).flat()
}

function deviceDay(device: number, random: Random): Happening[] {
  const happenings: Happening[] = []
  let at = random.between(0, 2 * HOUR)
  const end = at + random.between(6 * HOUR, 9 * HOUR)
  const add = (what: What, pause = 0, ids = 0) => {
    happenings.push({ at, device, what, ids })
    at += pause
  }
  const pause = () => Math.round(-Math.log(1 - random.next()) * MEAN_PAUSE_MS)

  const scenes = {
    save: () => add('save', pause(), random.between(1, 5)),
    away() {
      add('hide', pause())
      if (random.chance(KILLED_WHILE_HIDDEN)) {
        add('die', pause())
        add('open', pause())
      } else add('show', pause())
    },
    reload: () => add('reload', pause()),
    reopen() {
      add('close', pause())
      add('open', pause())
    },
    crash() {
      add('die', random.between(1_000, MINUTE))
      add('open', pause())
    },
  }

  add('open', pause())
  while (at < end)
    scenes[random.weighted({ save: 60, away: 27, reload: 9, reopen: 3.7, crash: 0.3 })]()
  add('close')
  return random.chance(IN_THE_FIELD) ? [...happenings, ...outages(device, end, random)] : happenings
}

function outages(device: number, end: number, random: Random): Happening[] {
  const outages: Happening[] = []
  let at = random.between(0, 3 * HOUR)
  while (at < end) {
    outages.push({ at, device, what: 'offline', ids: 0 })
    at += random.between(5 * MINUTE, 2 * HOUR)
    outages.push({ at, device, what: 'online', ids: 0 })
    at += random.between(HOUR, 3 * HOUR)
  }
  return outages
}
