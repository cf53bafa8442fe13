/**
 * Words about a stored record that somebody changes by itself, while its device is stopped.
 *
 * * `edited-records`: an older copy of it takes its place, it is deleted, or two collections of one
 *   database exchange theirs.
 * * `edited-receipts`: the last numbers of a series are deleted, or an older copy of all that is
 *   stored of it takes its place.
 */
import type { Device } from './device.js'
import { evict, killBrowser } from './faults.js'
import { isOneLedger } from './profile.js'
import type { Random } from './random.js'
import { backUpOrGoBack } from './set-back.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

const STORE = 'collections'

export const editedRecords: Word = {
  fits: isOneLedger,
  world: () => ({ goesBack: true, faults: new Set() }),
  happens(simulation, device, random) {
    const edits = { older: 2, deleted: 1, exchanged: 1 }
    if (!device.traits.hasIndexedDb) return
    const edit = random.weighted(edits)
    if (edit === 'older') backUpOrGoBack(simulation, device, 'a record')
    else lose(simulation, device, random, edit)
  },
}

/** The device has its numbers no more. */
function lose(
  simulation: Simulation,
  device: Device,
  random: Random,
  edit: 'deleted' | 'exchanged',
): void {
  const { disk } = device
  const records = [...(disk.stores.get(STORE)?.values() ?? [])]
  if (records.length === 0) return
  const one = random.pick(records)
  const databaseOf = ({ key }: { key: unknown }) => (key as string[])[1]
  const other = records.find((each) => each !== one && databaseOf(each) === databaseOf(one))
  if (edit === 'exchanged' && !other) return
  simulation.hit(`record ${edit}`)
  device.killBrowser()
  const write = (key: unknown, value?: unknown) => ({ store: STORE, key, value })
  const writes =
    edit === 'exchanged'
      ? [write(one.key, other!.value), write(other!.key, one.value)]
      : [write(one.key)]
  evict(simulation, device, () => disk.commit(writes, true))
  for (const { key } of writes) device.lastStates.delete(JSON.stringify(key))
}

export const editedReceipts: Word = {
  fits: isOneLedger,
  happens(simulation, device, random) {
    if (simulation.isClean || !simulation.receipts?.mayEdit(device)) return
    killBrowser(simulation, device)
    if (random.chance(0.5)) simulation.receipts.cut(device, random.between(1, 3))
    else simulation.receipts.goBack(device)
  },
}
