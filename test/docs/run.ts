/**
 * Runs one module to its end, then ends the process: servers and timers that a page's code leaves
 * open are none of its business.
 */
import { pathToFileURL } from 'node:url'

await import(pathToFileURL(process.argv[2]!).href)
process.exit()
