/**
 * The word `forgotten-hand-over`: a series goes to another device, and the server is restored from
 * a backup of before. The lost device was without a network meanwhile; both go on. The operator
 * raises the floors before the server listens, as the documents say.
 */
import { comeOnline } from './faults.js'
import { isOneLedger } from './profile.js'
import { backUpOrRestore } from './restores.js'
import type { Word } from './words.js'

/** The other device makes numbers so long before the restore. */
const LONGEST_MS = 30_000

export const forgottenHandOver: Word = {
  fits: isOneLedger,
  world: ({ devices, moves }) => ({
    closesPeriods: true,
    forgetsHandOvers: true,
    hasRestore: true,
    devices: Math.max(2, devices),
    moves: Math.max(30, moves),
  }),
  happens(simulation, device, random) {
    const { receipts, backups, scheduler, networkActor } = simulation
    const { node } = device
    if (!receipts || !device.isOnline) return
    if (!backups.has(node)) {
      backUpOrRestore(simulation, node)
      return
    }
    const restoredIn = random.between(1, LONGEST_MS)
    const backIn = random.between(1, LONGEST_MS)
    receipts.handOver(device, (other) => {
      receipts.sellSome(other)
      scheduler.post(networkActor, restoredIn, 'the hand-over is forgotten', () => {
        if (backups.has(node)) backUpOrRestore(simulation, node)
        scheduler.post(networkActor, backIn, `${device.name} is back`, () => {
          comeOnline(device)
          for (let round = random.between(1, 3); round > 0; round--) receipts.sellSome(device)
        })
      })
    })
  },
}
