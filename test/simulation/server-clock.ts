/**
 * The word `server-clock`: the server's clock is far ahead for a moment, and the server removes old
 * rows. Then the clock is right again, and what was removed is asked for.
 */
import { DAY_MS } from '../../src/core/day.js'
import { notNow, OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

export const serverClock: Word = {
  fits: isOneLedger,
  happens(simulation, { node }) {
    const { servers, scheduler, networkActor } = simulation
    const server = servers.get(node)
    scheduler.post(networkActor, 0, 'old rows are removed', async () => {
      if (!(server instanceof OwnServer) || !server.ledger) return
      const before = Date.now() + DAY_MS
      await server.ledger.prune({ settledBefore: before, heardBefore: before }).catch(notNow)
      simulation.hit('old rows removed')
    })
  },
}
