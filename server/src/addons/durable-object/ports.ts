/** The handler's ports on Cloudflare: its log is the console, and there are no metrics. */
import type { Ports } from '../../http/handler.js'
import type { Log } from '../../http/log.js'

/** Cloudflare keeps the lines of the console. */
const LOG: Log = {
  info: (details, message) => console.log(line(details, message)),
  error: (details, message) => console.error(line(details, message)),
}

const line = (details: object, message: string): string =>
  JSON.stringify({ ...details, msg: message }, (_, value) =>
    value instanceof Error ? (value.stack ?? String(value)) : value,
  )

const nothing = (): void => {}

/** Without `/metrics`: counts would begin again whenever an object wakes. */
export const PORTS: Ports = {
  createLog: () => LOG,
  createMetrics: () => ({
    claimed: nothing,
    committed: nothing,
    returned: nothing,
    refused: nothing,
    claimRefused: nothing,
    checkedIn: nothing,
    seriesBegan: nothing,
    budgets: nothing,
    overBudget: nothing,
    watchQueue: nothing,
  }),
}
