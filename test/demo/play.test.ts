/** The page that plays a seed: the same link is the same run, and its outcome is told in words. */
import { describe, expect, test } from 'vitest'
import { kindOf } from '../../demo/play/chance.js'
import { FIRST_PLAN, hashOf, planIn, seedAfter } from '../../demo/play/link.js'
import { addSeed, emptySum, sumText } from '../../demo/play/many-seeds.js'
import { gapsIn, outcomeOf } from '../../demo/play/outcome.js'
import { placesIn } from '../../demo/play/places.js'
import { lossOf, type Plan, play, type Run } from '../../demo/play/run.js'
import { STORIES, type StoryName } from '../../demo/play/stories.js'

const SEEDS = [1, 2, 3, 4, 5, 6]
const stories = Object.keys(STORIES) as StoryName[]
const plan = (story: StoryName, seed: number): Plan => ({ story, seed, own: [] })
const runs = new Map<string, Run>()
/** Each run is played once. */
function runOf(story: StoryName, seed: number): Run {
  const hash = hashOf(plan(story, seed))
  const run = runs.get(hash) ?? play(plan(story, seed))
  runs.set(hash, run)
  return run
}
const eventsOf = (of: Plan) => play(of).moments.map(({ event }) => event)

describe('a run', () => {
  test('is the same for the same plan, and another one for another seed', () => {
    expect(eventsOf(plan('network', 7))).toEqual(eventsOf(plan('network', 7)))
    expect(eventsOf(plan('network', 7))).not.toEqual(eventsOf(plan('network', 8)))
  })

  test.each(stories)('of “%s” has only events whose kind is known', (story) => {
    const events = SEEDS.flatMap((seed) => runOf(story, seed).moments.slice(1)).map(
      ({ event }) => event,
    )
    const written = events.map((event) => event.replace(' Its newest transaction is gone.', ''))
    expect(written.filter((event) => kindOf(event) === undefined)).toEqual([])
  })

  test('loses something within five events, where the page begins', () => {
    const events = eventsOf(FIRST_PLAN).slice(1, 6)
    expect(events).toContain('The grant of 1–4 to device a is lost.')
  })

  test('goes on without the message that the user lost, and so does its link', () => {
    const { moments } = play(FIRST_PLAN)
    const at = moments.findIndex(({ system }) => system.messages.length > 0)
    const { system } = moments[at]!
    const choice = lossOf(system.messages[0]!, system, FIRST_PLAN.story)
    const own = { ...FIRST_PLAN, own: [{ at: at + 1, choice }] }
    const lost = play(own).moments
    expect(lost[at + 1]).toMatchObject({ isOwn: true, system: { left: system.left } })
    expect(lost[at + 1]!.event).toMatch(/ is lost\.$/)
    expect(lost[at + 1]!.system.messages).toEqual(system.messages.slice(1))
    expect(lost.slice(0, at + 1)).toEqual(moments.slice(0, at + 1))
    expect(play(planIn(hashOf(own))).moments).toEqual(lost)
  })
})

describe('the outcome', () => {
  test.each(['network', 'ravendb'] as const)('of “%s” is that no id was issued twice', (story) => {
    for (const seed of SEEDS)
      expect(outcomeOf(runOf(story, seed)), `seed ${seed}`).toMatchObject({
        verdict: 'kept',
        headline: expect.stringContaining('None twice.'),
      })
  })

  test.each(['copied', 'restored'] as const)('of “%s” names the limit, or none', (story) => {
    for (const seed of SEEDS) {
      const { verdict, headline } = outcomeOf(runOf(story, seed))
      expect(headline).toContain(verdict === 'limit' ? 'that is documented' : 'None twice.')
    }
  })

  test('is a broken promise for some seeds when a guard is taken out', () => {
    let sum = emptySum()
    for (const seed of SEEDS) sum = addSeed(sum, 'forgetful', seed)
    expect(sum.counts.broken).toBeGreaterThan(0)
    expect(sumText(sum)).toContain('the promise is broken')
    const { moments } = play(plan('forgetful', sum.first.broken!))
    expect(moments.at(-1)!.problem).toBeDefined()
    expect(moments.filter(({ problem }) => problem)).toHaveLength(1)
  })

  test.each(stories)('of “%s” counts every number once, and each gap has a reason', (story) => {
    for (const seed of SEEDS) {
      const { moments } = runOf(story, seed)
      const places = placesIn(moments.at(-1)!.system).slice(1)
      expect(places.filter((each) => each.length === 0)).toEqual([])
      const gaps = gapsIn(moments)
      expect(gaps).toHaveLength(places.filter(([place]) => place?.at === 'gap').length)
      for (const { reason } of gaps) expect(reason).not.toBe('')
    }
  })
})

test('the same address is the same plan, and nonsense in it is the first one', () => {
  const own = [
    { at: 3, choice: 12 },
    { at: 40, choice: 0 },
  ]
  const full: Plan = { story: 'copied', seed: 12_345, own }
  expect(hashOf(full)).toBe('#story=copied&seed=12345&own=3.12_40.0')
  expect(planIn(hashOf(full))).toEqual(full)
  expect(planIn(hashOf(FIRST_PLAN))).toEqual(FIRST_PLAN)
  expect([seedAfter(1), seedAfter(999_999)]).toEqual([2, 1])
  for (const hash of ['', '#', '#story=toString&seed=-1&own=1', '#seed=1e9&own=x.1_2', '#%'])
    expect(planIn(hash)).toEqual(FIRST_PLAN)
  expect(planIn('#own=40.0_3.12_3.7').own).toEqual(own)
})
