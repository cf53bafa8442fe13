/** The timeline as data: which lane each event is on, and between which lanes messages fly. */
import type { Message, Moment, Run, System } from './run.js'

/** `server`, `a` for a device, `a/0` for its first place for a page. */
export type Lane = string

interface Row {
  /** Where the event happens. */
  lane: Lane
  /** The other end of what happens between a page and its device at once. */
  towards?: Lane | undefined
  /** Devices, and pages that are open after the event. */
  alive: ReadonlySet<Lane>
}

export interface Flight {
  from: { row: number; lane: Lane }
  to: { row: number; lane: Lane }
  isLost: boolean
}

export interface Lanes {
  rows: Row[]
  flights: Flight[]
  /** All lanes that are ever used, from left to right. */
  order: Lane[]
}

export function lanesOf({ moments }: Run): Lanes {
  const slots = slotsOf(moments)
  const rows = moments.map((moment, i) => rowOf(moment, moments[i - 1]?.system, slots))
  const devices = moments.at(-1)!.system.devices.map(({ name }) => name)
  const used = new Set(rows.flatMap(({ alive }) => [...alive]))
  const order = ['server', ...devices.flatMap((name) => inDevice(name, used))]
  return { rows, flights: flightsOf(moments, rows), order }
}

const inDevice = (name: string, used: ReadonlySet<Lane>): Lane[] =>
  [name, `${name}/0`, `${name}/1`].filter((lane) => lane === name || used.has(lane))

/** Each page takes the first place on its device that is free when it opens. */
function slotsOf(moments: readonly Moment[]): ReadonlyMap<string, Lane> {
  const slots = new Map<string, Lane>()
  for (const { system } of moments)
    for (const { name, pages } of system.devices)
      for (const { id } of pages) {
        if (slots.has(id)) continue
        const taken = pages.map((page) => slots.get(page.id))
        slots.set(id, taken.includes(`${name}/0`) ? `${name}/1` : `${name}/0`)
      }
  return slots
}

function rowOf(
  { event, system, message }: Moment,
  before: System | undefined,
  slots: ReadonlyMap<string, Lane>,
): Row {
  const open = system.devices.flatMap(({ pages }) => pages.map(({ id }) => slots.get(id)!))
  const alive = new Set(['server', ...system.devices.map(({ name }) => name), ...open])
  if (message) return { lane: endOf(message, system), alive }
  const [, place, name] = /^Page (\d+) of device (\w)/.exec(event) ?? []
  if (place && name && before) {
    const pages = before.devices.find((device) => device.name === name)!.pages
    const page = slots.get(pages[Number(place) - 1]!.id)!
    if (/ hears /.test(event)) return { lane: name, towards: page, alive }
    const isTold = / asks | tells | parks: | is left.*kept/.test(event)
    return { lane: page, towards: isTold ? name : undefined, alive }
  }
  const opened = /^A page opens on device (\w)/.exec(event)?.[1]
  if (opened) {
    const { pages } = system.devices.find((device) => device.name === opened)!
    return { lane: slots.get(pages.at(-1)!.id)!, alive }
  }
  const copied = /^The profile of device (\w)/.exec(event)?.[1]
  if (copied) return { lane: copied, towards: system.devices.at(-1)!.name, alive }
  return { lane: /^Device (\w)/.exec(event)?.[1] ?? 'server', alive }
}

const endOf = (message: Message, { devices }: System): Lane =>
  message.to === 'server' ? 'server' : devices[message.device]!.name

/**
 * A message that arrives twice makes two flights. A message that is still under way at the end
 * flies until the last event.
 */
function flightsOf(moments: readonly Moment[], rows: readonly Row[]): Flight[] {
  const sent = new Map<Message, Flight['from']>()
  const ended = new Set<Message>()
  const flights: Flight[] = []
  for (const [row, { event, system, message }] of moments.entries()) {
    for (const each of system.messages)
      if (!sent.has(each)) {
        const from = each.to === 'server' ? rows[row]!.lane : 'server'
        sent.set(each, { row, lane: from })
      }
    if (!message) continue
    ended.add(message)
    const isLost = / is (lost|refused by a proxy)\.$/.test(event)
    flights.push({ from: sent.get(message)!, to: { row, lane: rows[row]!.lane }, isLost })
  }
  const last = moments.length - 1
  const { messages } = moments[last]!.system
  for (const message of messages)
    if (!ended.has(message))
      flights.push({
        from: sent.get(message)!,
        to: { row: last + 1, lane: endOf(message, moments[last]!.system) },
        isLost: false,
      })
  return flights
}
