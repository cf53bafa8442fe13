/** What people read of a register. A page loads this file on demand: no number needs it. */
export { exported } from './chain-export.js'
export { verified } from './chain-verify.js'
export { reportOf } from './report.js'
