/**
 * Thousands of small worlds in which everything that can go wrong does, and no id is ever handed
 * out twice.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { sizeOf } from '../support/sizes.js'
import { OwnServers } from './own-servers.js'
import { play } from './play.js'
import { ENOUGH_FOR_ALL_HITS, neverHit, story, table } from './report.js'
import { simulate } from './simulation.js'

/**
 * The same seeds in every run, so that red means a change; `npm run simulate` looks for new ones,
 * and what it finds gets a named test.
 */
const FROM = 1
const SCHEDULES = sizeOf('SCHEDULES')

const servers = new OwnServers()
afterAll(() => servers.remove())

describe('simulation', () => {
  it('one seed always makes the same schedule', async () => {
    const first = await simulate(7, servers, true)
    const second = await simulate(7, servers, true)
    expect(withoutTokens(second.trace!)).toEqual(withoutTokens(first.trace!))
    expect(first.trace!.length).toBeGreaterThan(100)
  })

  it('no number is issued twice or outside a grant, or lost without a cause', async () => {
    const tally = await play({ from: FROM, schedules: SCHEDULES, mostFailures: 1 })
    if (tally.failed[0]) expect.fail(story(await simulate(tally.failed[0].seed, servers, true)))
    console.log(`Seeds from ${FROM}: ${table(tally)}`)
    expect(tally.schedules).toBeGreaterThan(0)
    if (tally.schedules >= ENOUGH_FOR_ALL_HITS) expect(neverHit(tally)).toEqual([])
  }, 180_000)
})

/** The server makes grant tokens of real randomness. */
const withoutTokens = (trace: readonly string[]): string[] =>
  trace.map((line) => line.replace(/lease=\S+/, ''))
