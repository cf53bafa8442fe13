/** Reads a register for people, and closes a period. A page loads it on demand. */
export { exported } from './chain-export.js'
export { verified } from './chain-verify.js'
export { closePeriod } from './closing.js'
export { reportOf } from './report.js'
