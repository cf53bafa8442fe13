/** The word `drop`: an operator drops a collection while devices hold numbers of it. */
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

export const drop: Word = {
  fits: isOneLedger,
  happens(simulation, device, random) {
    const { servers, scheduler, networkActor, checker, profile, database } = simulation
    const server = servers.get(device.node)
    const collection = random.pick(profile.collections)
    scheduler.post(networkActor, 0, `${collection} is dropped`, async () => {
      if (!(server instanceof OwnServer) || !(await server.drop(database, collection))) return
      simulation.hit('collection dropped')
      checker.excuseAll(`${collection}-${device.node}`, 'its collection was dropped')
    })
  },
}
