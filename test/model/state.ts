/**
 * The whole system as one value: a server, its backup, devices with their pages, and the messages
 * under way. Nothing in it is ever changed: each event makes a new one, which shares most parts.
 */
import type { CheckInAnswer, CheckInRequest } from '../../src/core/wire.js'
import type { Page } from '../../src/device/page/page.js'
import {
  type DeviceClaim,
  type DeviceState,
  type Exchange,
  type Exchanged,
  emptyState,
  type Note,
} from '../../src/device/state.js'
import { newServer, type Server } from './server.js'

/** How often each event may happen in one history: what makes the number of states finite. */
export interface Bounds {
  devices: number
  pages: number
  /** Numbers of one claim. */
  range: number
  /** Numbers a page leases at once. */
  lease: number
  /**
   * `own`: this package's server. `plain`: the same, and the client uses RavenDB's protocol only.
   * `ravendb`: no tokens, and any return with the right end sets the counter back. `counter`: a
   * source of the app's own, which is asked for a range and takes nothing back. `document`: clients
   * of RavenDB 2 and 3, which read a document `{"Max": n}` and write it under its version.
   */
  authority: 'own' | 'plain' | 'ravendb' | 'counter' | 'document'
  claims: number
  issues: number
  exchanges: number
  exits: number
  kills: number
  giveBacks: number
  checkIns: number
  /** Messages that are delivered twice. */
  repeats: number
  /** Messages that are lost. */
  losses: number
  copies: number
  restores: number
  /** The device loses its power, and all notes that are not on the disk yet. */
  powerCuts: number
  /** Time passes, and the server forgets old grants. */
  prunes: number
  /** A worker dies before its answer is heard, and its page asks the next one the same. */
  workerDeaths: number
  /** A page does not answer in time, and its device takes it for dead. */
  silences: number
  /** Somebody gives numbers back without a token: by mistake, or to get them. */
  forgeries: number
  /** A page parks the last number that it holds, and goes on with the others. */
  cuts: number
  /** Somebody sets the collection's document back. */
  writes: number
}

export interface OpenPage {
  id: string
  holds: Page
  /** Exchanges that the device has done, and whose answers are not here yet. */
  asked: readonly Asked[]
  /** In the back/forward cache. */
  isFrozen?: true | undefined
}

interface Asked {
  request: Exchange
  answer: Exchanged
  /** What the answer says of forks. */
  forks: number
}

export interface Device {
  name: string
  stored: DeviceState
  pages: OpenPage[]
  /** What pages left in IndexedDB. */
  notes: Note[]
  /** The same in `localStorage`: it is read when a page opens. */
  local: Note[]
  /** Pages that were killed and that nobody has written off. */
  dead: string[]
}

export type Message =
  | { to: 'server'; kind: 'claim'; device: number; request: DeviceClaim }
  | { to: 'server'; kind: 'check-in'; device: number; request: CheckInRequest }
  | { to: 'server'; kind: 'give-back'; end: number; last: number; token?: string | undefined }
  | { to: 'server'; kind: 'write'; device: number; id: string; write: DocumentWrite }
  | { to: 'device'; kind: 'claim'; device: number; id: string; answer: Answered }
  | { to: 'device'; kind: 'check-in'; device: number; id: string; answer: CheckInAnswer }

interface DocumentWrite {
  max: number
  version: number
  low: number
}

export type Answered =
  | { low: number; high: number; token?: string | undefined; results: CheckInAnswer['grants'] }
  | { refused: string }

export type Left = Omit<Bounds, 'devices' | 'pages' | 'range' | 'lease' | 'authority'>

/** Limits that the documentation names, each of which allows a number twice. */
interface Excuses {
  /** Either copy of a profile may issue it: it was held or claimed when the profile was copied. */
  copied: number[]
  /** Claims that were stored when their profile was copied: what they are granted is of both. */
  copiedClaims: string[]
  /** Granted, given back or kept under a new token after the backup that was restored later. */
  unknownToServer: number[]
}

/** What nobody in the system knows, and properties are about. */
interface Truth {
  /** Grants that a restored server made before it was restored, and does not know any more. */
  lostGrants: string[]
  wasRestored: boolean
  /** The operator has raised the floors since the server was restored. */
  isRaised: boolean
  /** Numbers of grants of which the server has found a copy. */
  foundCopied: number[]
  /** Tokens of which a device has said that all their numbers are issued. */
  spent: string[]
  /**
   * A device and its copy, of which neither was told so far, and who of them was granted numbers
   * since. Undefined: there are none, or they have shown their tokens otherwise than by claims.
   */
  pair?: { names: string[]; granted: string[] } | undefined
}

export interface System {
  server: Server
  backup?: Server | undefined
  devices: Device[]
  messages: Message[]
  /** Each number that was issued, with the devices that did. */
  issued: [number: number, devices: string[]][]
  excuses: Excuses
  truth: Truth
  /** The highest number that was ever granted, by the server or by the one it was restored over. */
  granted: number
  /** What went wrong in the last event, if something did. */
  problem?: string | undefined
  left: Left
  /** How many names were made up. */
  names: number
}

export const newSystem = (devices: number, left: Left): System => ({
  server: newServer(),
  devices: Array.from({ length: devices }, (_, i) => newDevice(String.fromCharCode(97 + i))),
  messages: [],
  issued: [],
  excuses: { copied: [], copiedClaims: [], unknownToServer: [] },
  truth: { lostGrants: [], wasRestored: false, isRaised: false, foundCopied: [], spent: [] },
  granted: 0,
  left,
  names: 0,
})

const newDevice = (name: string): Device => ({
  name,
  stored: emptyState(),
  pages: [],
  notes: [],
  local: [],
  dead: [],
})

export function withDevice(system: System, d: number, change: (device: Device) => Device): System {
  return { ...system, devices: system.devices.map((each, i) => (i === d ? change(each) : each)) }
}

export function withPage(
  system: System,
  d: number,
  p: number,
  change: (page: OpenPage) => OpenPage,
): System {
  return withDevice(system, d, (device) => ({
    ...device,
    pages: device.pages.map((each, i) => (i === p ? change(each) : each)),
  }))
}

export const send = (system: System, message: Message): System => ({
  ...system,
  messages: [...system.messages, message],
})

export const without = (system: System, m: number): System => ({
  ...system,
  messages: system.messages.filter((_, i) => i !== m),
})

export const spend = (system: System, what: keyof Left): System => ({
  ...system,
  left: oneLess(system.left, what),
})

const spent = new WeakMap<Left, Map<keyof Left, Left>>()
const leftByText = new Map<string, Left>()

/** Few of these exist, and each of them once: they are compared and hashed all the time. */
function oneLess(left: Left, what: keyof Left): Left {
  const known = spent.get(left)?.get(what)
  if (known) return known
  const less = { ...left, [what]: left[what] - 1 }
  const text = JSON.stringify(less)
  const one = leftByText.get(text) ?? less
  leftByText.set(text, one)
  spent.set(left, (spent.get(left) ?? new Map()).set(what, one))
  return one
}

export function withIssued(system: System, number: number, device: string): System {
  const before = system.issued.find(([each]) => each === number)?.[1] ?? []
  const others = system.issued.filter(([each]) => each !== number)
  const issued: System['issued'] = [...others, [number, [...before, device]]]
  return { ...system, issued: issued.sort(([a], [b]) => a - b) }
}

/** The numbers of both, sorted, each once. */
export const merged = (some: readonly number[], more: readonly number[]): number[] =>
  [...new Set([...some, ...more])].sort((a, b) => a - b)

export function numbersBetween(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** All numbers a device has not let go of. */
export function numbersOf({ stored: { ranges, leases, offers } }: Device): number[] {
  const held = [...ranges, ...leases.map((each) => each.range), ...offers.map((each) => each.range)]
  return held.flatMap(({ from, to }) => numbersBetween(from, to))
}
