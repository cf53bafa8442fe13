/** Thousands of small worlds in which everything that can go wrong does, and no id is ever handed out twice. */
import { afterAll, describe, expect, it } from 'vitest'
import { add, ENOUGH_FOR_ALL_HITS, emptyTally, neverHit, story, table } from './report.js'
import { Folders, simulate } from './simulation.js'

/** Each once broke a promise. */
const REGRESSIONS = [
  26, 145, 1052, 1149, 1189, 5056, 5077, 5453, 5533, 5739, 20075, 20142, 20180, 20231, 20420, 20491, 30149, 40072, 40335, 50022,
  12316497857, 12316499669, 147639843816,
]

/** The same seeds in every run, so that red means a change; `npm run simulate` looks for new ones. */
const FROM = Number(process.env.SIMULATION_FROM ?? 1)
const SCHEDULES = Number(process.env.SIMULATION_SCHEDULES ?? 1_000)
/** However slow the machine. */
const TIME_MS = 45_000

const folders = new Folders()
afterAll(() => folders.remove())

async function expectSound(seed: number): Promise<void> {
  const { violations } = await simulate(seed, folders)
  if (violations.length > 0) expect.fail(story(await simulate(seed, folders, true)))
}

describe('simulation', () => {
  it.each(REGRESSIONS)('a schedule that once failed: seed %i', expectSound, 30_000)

  it('one seed always makes the same schedule', async () => {
    const first = await simulate(7, folders, true)
    const second = await simulate(7, folders, true)
    expect(withoutTokens(second.trace!)).toEqual(withoutTokens(first.trace!))
    expect(first.trace!.length).toBeGreaterThan(100)
  })

  it('no number is issued twice, none outside a grant, and none is lost without a cause', async () => {
    const tally = emptyTally()
    const end = performance.now() + TIME_MS
    for (let seed = FROM; seed < FROM + SCHEDULES && performance.now() < end; seed++) {
      const outcome = await simulate(seed, folders)
      add(tally, outcome)
      if (outcome.violations.length > 0) expect.fail(story(await simulate(seed, folders, true)))
    }
    console.log(`Seeds from ${FROM}: ${table(tally)}`)
    if (tally.schedules >= ENOUGH_FOR_ALL_HITS) expect(neverHit(tally)).toEqual([])
  }, 90_000)
})

/** The server makes lease tokens of real randomness. */
const withoutTokens = (trace: readonly string[]): string[] => trace.map((line) => line.replace(/lease=\S+/, ''))
