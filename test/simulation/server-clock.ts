/**
 * The word `server-clock`: the server's clock is far ahead for a moment, and the server removes old
 * rows. Then the clock is right again, and what was removed is asked for.
 */
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

export const serverClock: Word = {
  fits: isOneLedger,
  happens(simulation, { node }) {
    const { servers, scheduler, networkActor } = simulation
    const server = servers.get(node)
    scheduler.post(networkActor, 0, 'old rows are removed', async () => {
      if (!(server instanceof OwnServer)) return
      if (await server.prune()) simulation.hit('old rows removed')
    })
  },
}
