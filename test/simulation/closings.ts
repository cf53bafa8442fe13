/**
 * The word `closings`: a person closes periods of a series, and opens one again now and then. The
 * series go to other devices, and the server is restored from a backup.
 */
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

export const closings: Word = {
  fits: isOneLedger,
  world: ({ devices, moves }) => ({
    closesPeriods: true,
    hasRestore: true,
    devices: Math.max(2, devices),
    moves: Math.max(30, moves),
  }),
  happens({ receipts }, device, random) {
    const page = device.pages.find(({ isAlive }) => isAlive)
    if (page) receipts?.close(page, random)
    if (random.chance(0.5)) receipts?.handOver(device)
  },
}
