import { openCounter } from './counter.js'

openCounter('floor').then(async (counter) => postMessage(await counter.next()))
