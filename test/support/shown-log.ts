/** The log of a server in the process of the tests: what it says is shown when a test fails. */
import type { Log } from '../../server/src/http/log.js'

export const shownLog: Log = {
  info() {},
  error: (details, message) => console.error(message, details),
}
