/**
 * The owner in the realm that imports this: a page whose worker cannot start, a worker, a service
 * worker.
 */
import type { Owner } from '../core/contract.js'
import { createOwner } from './owner.js'
import { browserWorld } from './world.js'

export const ownerHere = (): Owner => createOwner(browserWorld())
