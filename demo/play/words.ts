/** Says what happened and what each message asks, to somebody who is new to it. */
import type { Message, Moment, Run, System } from './run.js'

/** The name of each page, by its id: the second page that device a opened is `a2`. */
export function pageNames({ moments }: Run): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const opened = new Map<string, number>()
  for (const { system } of moments)
    for (const { name, pages } of system.devices)
      for (const { id } of pages) {
        if (names.has(id)) continue
        const count = (opened.get(name) ?? 0) + 1
        opened.set(name, count)
        names.set(id, `${name}${count}`)
      }
  return names
}

/** The explorer names a page by its place. The place changes when an earlier page goes. */
export function sentenceOf(
  { event, system }: Pick<Moment, 'event' | 'system'>,
  before: System,
  names: ReadonlyMap<string, string>,
): string {
  return event
    .replace(/^Page (\d+) of device (\w)/, (_, place: string, name: string) => {
      const device = before.devices.find((each) => each.name === name)!
      return `Page ${names.get(device.pages[Number(place) - 1]!.id)}`
    })
    .replace(/^A page (opens on device (\w))/, (_, opens: string, name: string) => {
      const { pages } = system.devices.find((device) => device.name === name)!
      return `Page ${names.get(pages.at(-1)!.id) ?? ''} ${opens}`
    })
    .replace(/ issues a number/, () => ` issues ${newlyIssued(before, system)}`)
    .replace(/ is copied\.$/, ` is copied. The copy is device ${system.devices.at(-1)!.name}.`)
    .replace(/, and will once more\.$/, '. A second copy of it is still on its way.')
}

function newlyIssued(before: System, after: System): number {
  const known = new Set(before.issued.map(([number, by]) => `${number} ${by.length}`))
  return after.issued.find(([number, by]) => !known.has(`${number} ${by.length}`))![0]
}

/** Which message this is: its kind, and between whom. */
export function titleOf(message: Message, { devices }: System): string {
  if (message.kind === 'give-back') return 'Give-back, to the server'
  const { name } = devices[message.device]!
  if (message.kind === 'write') return `Write of device ${name}`
  const kind = message.kind === 'claim' ? 'Claim' : 'Check-in'
  if (message.to === 'server') return `${kind} of device ${name}`
  const isGrant = message.kind === 'claim' && 'low' in message.answer
  return `${isGrant ? 'Grant' : `Answer to a ${kind.toLowerCase()}`}, to device ${name}`
}

export function wordsOf(message: Message): string {
  if (message.kind === 'give-back') {
    const what = rangeText(message.last + 1, message.end)
    return `“I did not use ${what}. Grant them to others.”`
  }
  if (message.kind === 'write') {
    const { low, max } = message.write
    return `“I take ${rangeText(low, max)}, if nobody has written since I read.”`
  }
  if (message.to === 'server') {
    if (message.kind === 'check-in')
      return '“These are the tokens of my grants. Am I the only copy that holds them?”'
    const { lastMax } = message.request
    const seen = lastMax === 0 ? 'I have seen none yet' : `The highest that I saw is ${lastMax}`
    return `“I need a range of numbers. ${seen}.”`
  }
  if (message.kind === 'claim')
    return 'low' in message.answer
      ? `“${rangeText(message.answer.low, message.answer.high)}: yours, and nobody else’s.”`
      : `“Nothing: ${message.answer.refused}.”`
  const isOld = message.answer.grants.some(
    (result) => 'superseded' in result || 'unknown' in result,
  )
  return isOld
    ? '“A token is not valid any more: you are a copy. Drop its numbers.”'
    : '“Yes. Here are your new tokens; the old ones are not valid any more.”'
}

const rangeText = (from: number, to: number): string => (from === to ? `${from}` : `${from}–${to}`)
