/**
 * The floor of the first id: a worker that opens its counter and takes one number, and nothing
 * else.
 */
import { openCounter } from './counter.js'

openCounter('floor').then(async (counter) => postMessage(await counter.next()))
