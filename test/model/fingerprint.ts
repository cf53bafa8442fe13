/**
 * Reduces a state to what makes it different from others: not names, and not the order of things.
 */
import { compareParts, Fingerprint, inOrder, isSamePart, type Part, partOf } from './canonical.js'
import { imageOf } from './page-events.js'
import type { Server } from './server.js'
import type { Device, Message, OpenPage, System } from './state.js'

export function fingerprint(system: System): { high: number; low: number } {
  const { server, backup, devices, messages, issued, excuses, truth, granted, left } = system
  const print = new Fingerprint()
  // Devices that hold the same stay in their order; then two states count that could be one.
  const inPlace = devices.map((device, d) => ({ d, parts: partsOf(device) }))
  if (devices.length > 1) inPlace.sort((a, b) => compare(a.parts, b.parts))
  const rankOf = (d: number) => inPlace.findIndex((each) => each.d === d)
  print.addPart(partOf(left))
  print.add(granted)
  for (const { parts } of inPlace) print.addParts(parts)
  addServer(print, server)
  print.add(backup ? 1 : 0)
  if (backup) addServer(print, backup)
  const sent = messages.map((message) => ({ part: partOfMessage(message), message }))
  sent.sort((a, b) => compareParts(a.part, b.part))
  print.add(sent.length)
  for (const { part, message } of sent) {
    print.add('device' in message ? rankOf(message.device) : -1)
    print.addPart(part)
  }
  for (const [number, names] of issued) {
    print.add(number)
    let ranks = 0
    for (const name of names)
      ranks += 1 << (4 * rankOf(devices.findIndex((each) => each.name === name)))
    print.add(ranks)
  }
  print.addPart(partOf(excuses))
  print.addPart(partOf(truth))
  return print
}

export function isSameMessage(a: Message, b: Message): boolean {
  const isOfOne = ('device' in a && a.device) === ('device' in b && b.device)
  return isOfOne && isSamePart(partOfMessage(a), partOfMessage(b))
}

const partsOf = ({ stored, pages, notes, local, dead }: Device): readonly Part[] => [
  partOf(stored),
  partOf(notes),
  partOf(local),
  partOf(dead),
  ...inOrder(pages.map(partOfPage)),
]

function compare(a: readonly Part[], b: readonly Part[]): number {
  if (a.length !== b.length) return a.length - b.length
  for (const [i, part] of a.entries()) {
    const order = compareParts(part, b[i]!)
    if (order !== 0) return order
  }
  return 0
}

function addServer(print: Fingerprint, server: Server): void {
  const { database, collection, grants, returns, tombstones } = server
  print.addPart(partOf(database))
  print.addPart(partOf(collection))
  print.addParts(grants.map((grant) => partOf(grant)))
  print.addPart(partOf(returns))
  print.addPart(partOf(tombstones))
}

const pages = new WeakMap<OpenPage, Part>()

function partOfPage(page: OpenPage): Part {
  const known = pages.get(page)
  if (known) return known
  const part = partOf(imageOf(page))
  pages.set(page, part)
  return part
}

const partOfMessage = (message: Message): Part => partOf(message, 'device')
