/**
 * The word `raven-replaced`: an offline-hilo-server of our own takes the place of a RavenDB at the
 * same address. Its operator lets it count on above all that the RavenDB granted, or, by mistake,
 * below. Later that ledger may be begun anew.
 */
import { ledgerAnew } from './another-ledger.js'
import { MemoryStorage } from './ledger-storage.js'
import { OwnServer } from './own-servers.js'
import { witnessOf } from './servers.js'
import type { Word } from './words.js'

const REPLACED = 'a server of our own in place of a RavenDB'
const TOO_LOW = 'a ledger begun below what a RavenDB granted'

export const ravenReplaced: Word = {
  fits: ({ authority, nodes }) => authority === 'raven' && nodes.length === 1,
  happens(simulation, device, random) {
    const { servers, scheduler, networkActor, checker, database, hits, atEnd } = simulation
    if (hits.has(REPLACED)) return ledgerAnew.happens(simulation, device, random)
    simulation.hit(REPLACED)
    const { node } = device
    const isTooLow = random.chance(0.25)
    scheduler.post(networkActor, 0, REPLACED, async () => {
      if (isTooLow) simulation.hit(TOO_LOW)
      const server = await OwnServer.start(node, new MemoryStorage())
      atEnd.push(() => server.remove())
      const witness = witnessOf(simulation, node)
      server.enter({ random: simulation.random, witness, hit: (what) => simulation.hit(what) })
      const above = checker.highestOf(node)
      const by = isTooLow ? random.between(0, above) : above
      if (by > 0) await server.ledger!.raiseFloors({ database, by })
      servers.set(node, server)
    })
  },
}
