/**
 * The word `crowded`: much of what is rare happens in one world, and often. Profiles are copied,
 * storage goes back, and the server is restored, also while copies run.
 */
import { cloneProfile } from './clones.js'
import { backUpOrRestore } from './restores.js'
import { backUpOrGoBack } from './set-back.js'
import type { Word } from './words.js'

export const crowded: Word = {
  fits: ({ authority, counts }) => authority === 'own' && counts === 'its ledger',
  world: ({ moves, faults }, random) => ({
    // Where nothing else breaks, it is known exactly which number may be issued twice.
    faults: random.chance(0.5) ? new Set() : faults,
    hasClones: true,
    hasRestore: true,
    goesBack: true,
    moves: Math.max(30, moves),
  }),
  happens(simulation, device, random) {
    const event = random.weighted({ clone: 1, restore: 3, goBack: 2 })
    if (event === 'clone') cloneProfile(simulation, device)
    if (event === 'restore') backUpOrRestore(simulation, device.node)
    if (event === 'goBack') backUpOrGoBack(simulation, device)
  },
}
