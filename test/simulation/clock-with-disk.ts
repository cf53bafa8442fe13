/**
 * The word `clock-with-disk`: a device goes back to an older copy of its storage, and its clock
 * goes back to the time of that copy. So does a board without a clock battery, or a virtual machine
 * that is set back to an image.
 */
import { backUpOrGoBack } from './set-back.js'
import type { Word } from './words.js'

export const clockWithDisk: Word = {
  fits: ({ authority, nodes }) => authority === 'own' && nodes.length === 1,
  world: () => ({ goesBack: true, hasClones: false, hasRestore: false, faults: new Set() }),
  happens: (simulation, device) => backUpOrGoBack(simulation, device, 'disk and clock'),
}
