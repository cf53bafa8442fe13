/**
 * How a run ended, in words: how many ids it made, how many of them twice, and why some numbers are
 * gaps.
 */
import { inRanges, type Place, placesIn } from './places.js'
import type { Moment, Run, System } from './run.js'

export interface Outcome {
  verdict: 'kept' | 'limit' | 'broken'
  headline: string
  sentences: string[]
}

export function outcomeOf({ moments, stuck }: Run): Outcome {
  const { system, problem } = moments.at(-1)!
  const { issued } = system
  const twice = issued.filter(([, by]) => by.length > 1).map(([number]) => number)
  const sentences = [shares(placesIn(system)), ...gapSentences(moments)]
  if (problem !== undefined) {
    const sentence = `After event ${moments.length - 1}: ${problem}`
    return { verdict: 'broken', headline: 'The promise is broken.', sentences: [sentence] }
  }
  if (stuck !== undefined)
    return { verdict: 'broken', headline: 'A device is stuck.', sentences: [stuck] }
  sentences.push(
    `These properties held after each of the ${moments.length - 1} events: no number was issued ` +
      'twice outside of the limits that the documentation names, none had two owners on one ' +
      'device, and none vanished without a cause.',
    'When everything that is still on its way arrives, each device makes an id again: nothing is ' +
      'stuck.',
  )
  const count = ids(issued.length)
  if (twice.length === 0)
    return { verdict: 'kept', headline: `${count} issued. None twice.`, sentences }
  return {
    verdict: 'limit',
    headline: `${count} issued, ${inRanges(twice)} twice: a limit that is documented.`,
    sentences: [`${inRanges(twice)}: ${excuseFor(system)}`, ...sentences],
  }
}

const ids = (count: number) => (count === 1 ? '1 id was' : `${count} ids were`)

function excuseFor({ excuses }: System): string {
  return excuses.unknownToServer.length > 0
    ? 'the restored server did not know that it had granted them, and granted them again before ' +
        'a later token proved it. After a restore, raise the floors before the server serves.'
    : 'two copies of one device both held them, and both issued them before the server had ' +
        'found the second copy. Release a device’s numbers before you clone it.'
}

/** @example `16 numbers were granted: 14 issued, 1 on a device or page, 1 gap.` */
function shares(places: readonly Place[][]): string {
  const all = places.slice(1)
  const parts: [what: string, at: Place['at'][]][] = [
    ['issued', ['issued']],
    ['on a device or page', ['device', 'page']],
    ['back at the server', ['server']],
    ['not received yet', ['on its way']],
    ['gaps', ['gap']],
  ]
  const counts = parts
    .map(([what, at]) => ({ what, count: all.filter(([of]) => of && at.includes(of.at)).length }))
    .filter(({ count }) => count > 0)
    .map(({ what, count }) => `${count} ${count === 1 && what === 'gaps' ? 'gap' : what}`)
  return `${all.length} numbers were granted: ${counts.join(', ')}.`
}

export interface Gap {
  number: number
  reason: string
  /** The place of the event that made the number a gap. */
  since: number
}

export function gapsIn(moments: readonly Moment[]): Gap[] {
  const gaps = new Map<number, Gap>()
  for (const [since, { event, system }] of moments.entries()) {
    const now = placesIn(system)
    for (const number of gaps.keys()) if (!isGap(now[number])) gaps.delete(number)
    for (const [number, places] of now.entries())
      if (isGap(places) && !gaps.has(number)) {
        const reason = reasonOf(event, system, moments[since - 1]!.system)
        gaps.set(number, { number, reason, since })
      }
  }
  return [...gaps.values()].sort((a, b) => a.number - b.number)
}

const isGap = (places: Place[] | undefined) => places?.[0]?.at === 'gap'

const REASONS = {
  crash: 'their page was killed, and nobody knows which of them it used',
  giveBack: 'they were given back, and nobody knows whether that arrived',
  fork: 'their device dropped them, because it was a copy or held an old token',
  drop: 'their device dropped them, because the server had dropped their collection',
}

/** A device counts its gaps by their reasons. Of other gaps, the event says the reason. */
function reasonOf(event: string, after: System, before: System): string {
  for (const [d, { stored }] of after.devices.entries()) {
    const was = before.devices[d]?.stored.gaps
    for (const cause of ['crash', 'giveBack', 'fork', 'drop'] as const)
      if (was && stored.gaps[cause] > was[cause]) return REASONS[cause]
  }
  if (event.startsWith('The server forgets')) return 'the server forgot an old grant'
  if (event.includes('raises the floors')) return 'the operator raised the floors after the restore'
  if (event.startsWith('The claim of')) return 'the server skipped them: others may have them'
  if (/^The give-back of .* arrives/.test(event))
    return 'the server could not take them back, because it has granted higher ones since'
  if (/^The grant of .* arrives/.test(event))
    return 'their device did not take them when their grant came'
  return event.replace(/\.$/, '').replace(/^[TA] ?(?=\w)/, (first) => first.toLowerCase())
}

function gapSentences(moments: readonly Moment[]): string[] {
  const byReason = new Map<string, number[]>()
  for (const { number, reason, since } of gapsIn(moments)) {
    const why = `${reason} (event ${since})`
    byReason.set(why, [...(byReason.get(why) ?? []), number])
  }
  return [...byReason].map(([why, numbers]) => `Gap ${inRanges(numbers)}: ${why}.`)
}
