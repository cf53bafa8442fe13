/**
 * The worker: builds the owner and exposes it, synchronously at the top, because a worker that
 * registers late loses messages.
 */
import { expose } from 'comlink'
import { createOwner } from './owner.js'
import { browserWorld } from './world.js'

expose(createOwner(browserWorld()))
