/**
 * Another ledger answers at the address of the first. The word `ledger-anew`: it was begun in the
 * place of the first. The word `replica`: it runs beside the first, and each request goes to
 * either. The checker is told nothing of this: a number must not be granted to two devices.
 */
import type { Device } from './device.js'
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

export const ledgerAnew: Word = {
  fits: isOneLedger,
  happens: (simulation, device) =>
    once(simulation, device, 'a ledger begun anew', async (server) => {
      server.storage.restore(await server.storage.begunAnew())
      server.generation++
    }),
}

export const replica: Word = {
  fits: isOneLedger,
  happens: (simulation, device) =>
    once(simulation, device, 'a replica beside the ledger', (server) => {
      server.beside = server.storage.beside()
    }),
}

function once(
  simulation: Simulation,
  { node }: Device,
  what: string,
  change: (server: OwnServer) => unknown,
): void {
  const { servers, scheduler, networkActor, hits, replacedLedger } = simulation
  const server = servers.get(node)
  if (hits.has(what) || replacedLedger || !(server instanceof OwnServer)) return
  simulation.hit(what)
  scheduler.post(networkActor, 0, what, () => server.whileStopped(() => change(server)))
}
