/** A program that makes an id and closes nothing; a test runs it with the URL of a server. */
import 'fake-indexeddb/auto'
import { createHilo } from '../../src/worker/index.js'

const hilo = createHilo({ url: process.argv[2]! })
console.log(await hilo.nextId('orders'))
