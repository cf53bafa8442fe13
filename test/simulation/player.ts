/** A process that plays the batches of schedules it is sent, and reports each. */
import { OwnServers } from './own-servers.js'
import { add, emptyTally } from './report.js'
import { simulate } from './simulation.js'

export interface Batch {
  from: number
  count: number
}

process.on('message', async ({ from, count }: Batch) => {
  const servers = new OwnServers()
  const tally = emptyTally()
  for (let seed = from; seed < from + count; seed++) add(tally, await simulate(seed, servers))
  await servers.remove()
  process.send!({ ...tally, hits: [...tally.hits], tolerated: [...tally.tolerated] })
})
