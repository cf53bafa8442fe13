/** A process that plays the schedules it is sent: of many it reports a tally, of one all events. */
import { OwnServers } from './own-servers.js'
import { add, emptyTally } from './report.js'
import { simulate } from './simulation.js'

/** Seeds that follow one another. */
export interface Batch {
  from: number
  count: number
}

process.on('message', async (asked: Batch | { told: number }) => {
  const servers = new OwnServers()
  const report = 'told' in asked ? await simulate(asked.told, servers, true) : await tallyOf(asked)
  await servers.remove()
  process.send!(report)

  async function tallyOf({ from, count }: Batch) {
    const tally = emptyTally()
    for (let seed = from; seed < from + count; seed++) add(tally, await simulate(seed, servers))
    return tally
  }
})
