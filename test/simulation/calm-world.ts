/** A world for a test that tells its own story: one server, no faults, no moves, no device yet. */
import { afterEach } from 'vitest'
import type { DeviceTraits } from './device.js'
import { MemoryStorage } from './ledger-storage.js'
import { OwnServers } from './own-servers.js'
import type { Profile } from './profile.js'
import { installGlobals } from './realm.js'
import { Simulation } from './simulation.js'

export const CALM_TRAITS: DeviceTraits = {
  engine: 'chromium',
  hasLocks: true,
  hasBroadcasts: true,
  hasIndexedDb: true,
  workers: 'work',
}

let restoreGlobals = () => {}
afterEach(() => restoreGlobals())

/** To be called inside a test. The globals are its own until the next one, or the test's end. */
export async function newCalmWorld(
  seed = 1,
  { authority = 'own', reserve = 100 }: Partial<Profile> = {},
): Promise<Simulation> {
  const simulation = new Simulation(seed, 'calm', [])
  Object.assign(simulation.profile, {
    authority,
    nodes: ['A'],
    devices: 0,
    collections: ['orders'],
    reserve,
    moves: 0,
    faults: new Set(),
    hasClones: false,
    goesBack: false,
    hasRestore: false,
    tenants: [''],
  })
  restoreGlobals()
  restoreGlobals = installGlobals(simulation.scheduler, 0)
  await simulation.run(new OwnServers(() => new MemoryStorage()))
  return simulation
}
