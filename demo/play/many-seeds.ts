/** Plays many seeds, a few at a time, and counts how they end. */
import { type Outcome, outcomeOf } from './outcome.js'
import { play } from './run.js'
import type { StoryName } from './stories.js'

export interface Sum {
  seeds: number
  events: number
  ids: number
  /** The first seed that ended so. */
  first: Partial<Record<Outcome['verdict'], number>>
  counts: Record<Outcome['verdict'], number>
}

export const emptySum = (): Sum => ({
  seeds: 0,
  events: 0,
  ids: 0,
  first: {},
  counts: { kept: 0, limit: 0, broken: 0 },
})

export function addSeed(sum: Sum, story: StoryName, seed: number): Sum {
  const run = play({ story, seed, own: [] })
  const { verdict } = outcomeOf(run)
  return {
    seeds: sum.seeds + 1,
    events: sum.events + run.moments.length - 1,
    ids: sum.ids + run.moments.at(-1)!.system.issued.length,
    first: { [verdict]: seed, ...sum.first },
    counts: { ...sum.counts, [verdict]: sum.counts[verdict] + 1 },
  }
}

export function sumText({ seeds, events, ids, counts, first }: Sum): string {
  const count = (number: number) => number.toLocaleString('en')
  const sentences = [`${count(seeds)} seeds, ${count(events)} events, ${count(ids)} ids.`]
  if (counts.broken === 0 && counts.limit === 0) sentences.push('No id was issued twice.')
  if (counts.limit > 0)
    sentences.push(
      `In ${counts.limit} of them a number was issued twice, a limit that is documented. ` +
        `The first such seed is ${first.limit}.`,
    )
  if (counts.broken > 0)
    sentences.push(
      `In ${counts.broken} of them the promise is broken. ` +
        `The first such seed is ${first.broken}.`,
    )
  return sentences.join(' ')
}
