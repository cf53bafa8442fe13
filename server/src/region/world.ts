/** What a region's device touches outside itself: the clock, timers and the ledger's database. */
import { randomUUID } from 'node:crypto'
import type { DeviceStore } from '../../../src/core/device-store.js'
import type { Source } from '../../../src/source/source.js'
import type { World } from '../../../src/worker/world.js'

export const regionWorld = (devices: DeviceStore, source: Source): World => ({
  openStore: async () => devices,
  storageKind: async () => 'persistent',
  createSource: () => source,
  now: () => performance.now(),
  date: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
  random: Math.random,
  newId: randomUUID,
  // Several servers of one region may send the same claim. Its answer is applied once.
  lock: (_, run) => run(),
})
