/** Where each number is in a state: what the page draws, and what becomes a gap. */
import type { Range } from '../../src/core/range.js'
import { leasesOf } from '../../test/model/page-events.js'
import type { Message, System } from './run.js'

/** Two copies of a device can both have a number: then it has two places. */
export type Place =
  | { at: 'server' | 'on its way' | 'gap' }
  /** Free, or set aside for a page that is gone or that still waits for its answer. */
  | { at: 'device'; device: string; isSetAside: boolean }
  | { at: 'page'; device: string; page: string; isOffer: boolean }
  | { at: 'issued'; device: string }

/** All numbers up to the highest that was granted, in order. */
export function placesIn(system: System): Place[][] {
  const { server, devices, issued, messages, granted } = system
  const highest = Math.max(granted, server.collection.max, 0, ...issued.map(([number]) => number))
  const places: Place[][] = Array.from({ length: highest + 1 }, () => [])
  const put = (from: number, to: number, place: Place) => {
    for (let number = from; number <= to; number++) places[number]?.push(place)
  }
  const known = new Map(issued)
  for (const [number, by] of issued)
    for (const device of by) put(number, number, { at: 'issued', device })
  for (const { name: device, stored, pages } of devices) {
    for (const { from, to } of stored.ranges)
      put(from, to, { at: 'device', device, isSetAside: false })
    const onPages = new Set<number>()
    const putOnPage = (page: string, from: number, to: number, isOffer: boolean) => {
      put(from, to, { at: 'page', device, page, isOffer })
      for (const number of numbers({ from, to })) onPages.add(number)
    }
    for (const { id: page, holds } of pages) {
      for (const { next, lease } of leasesOf(holds)) putOnPage(page, next, lease.range.to, false)
      for (const { range } of holds.offers) putOnPage(page, range.from, range.to, true)
    }
    const isHere = (number: number) => onPages.has(number) || known.get(number)?.includes(device)
    for (const { range } of [...stored.leases, ...stored.offers])
      for (const number of numbers(range))
        if (!isHere(number)) put(number, number, { at: 'device', device, isSetAside: true })
  }
  const fillGaps = (from: number, to: number, place: Place) => {
    for (let number = from; number <= to; number++)
      if (places[number]?.length === 0) put(number, number, place)
  }
  for (const [low, high] of server.collection.free) fillGaps(low, high, { at: 'server' })
  for (const { from, to } of underWay(system, messages)) fillGaps(from, to, { at: 'on its way' })
  fillGaps(1, server.collection.max, { at: 'gap' })
  // RavenDB's counter can go back: what is above it, the server grants again.
  fillGaps(server.collection.max + 1, highest, { at: 'server' })
  return places
}

/** Numbers of grants whose answer can still come, and of give-backs that can still arrive. */
function underWay({ devices, server }: System, messages: readonly Message[]) {
  const ranges: { from: number; to: number }[] = []
  for (const { stored } of devices) {
    const granted = server.grants.find(({ claim }) => claim && claim === stored.claim?.id)
    if (granted) ranges.push({ from: granted.low, to: granted.high })
  }
  for (const message of messages) {
    if (message.kind === 'give-back') ranges.push({ from: message.last + 1, to: message.end })
    if (message.kind === 'claim' && message.to === 'device' && 'low' in message.answer)
      ranges.push({ from: message.answer.low, to: message.answer.high })
  }
  return ranges
}

function numbers({ from, to }: Pick<Range, 'from' | 'to'>): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** @example `1–3, 7` */
export function inRanges(sorted: readonly number[]): string {
  const ranges: [from: number, to: number][] = []
  for (const number of sorted) {
    const last = ranges.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}
