/**
 * The word `renew-secret`: an operator stops the servers, gives the ledger a new secret and starts
 * them again, as after a leak. Devices hold tokens that nobody knows any more.
 */
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

export const renewSecret: Word = {
  fits: isOneLedger,
  happens(simulation, { node }) {
    const { servers, scheduler, networkActor, checker, profile } = simulation
    const server = servers.get(node)
    // An older primary that comes back has the secret of before.
    if (simulation.replacedLedger) return
    scheduler.post(networkActor, 0, 'the secret is renewed', async () => {
      if (!(server instanceof OwnServer)) return
      simulation.hit('secret renewed')
      await server.whileStopped(async () => {
        const ledger = await server.storage.open()
        await ledger.renewSecret()
        await ledger.close()
      })
      for (const tag of profile.collections)
        checker.excuseAll(`${tag}-${node}`, 'its token has a secret of before')
    })
  },
}
