/**
 * The owner in the realm that imports this: a page whose worker cannot start, a worker, a service
 * worker.
 */
import type { Owner } from '../device/contract.js'
import type { DeviceStore } from '../device/device-store.js'
import { ownStore } from '../store/own-store.js'
import { createOwner } from './owner.js'
import { browserWorld } from './world.js'

/** @param store the app's own; undefined: IndexedDB, or memory where there is none */
export const ownerHere = (store?: DeviceStore): Owner =>
  createOwner(browserWorld(store && ownStore(store)))
