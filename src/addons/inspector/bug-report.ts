/** The content of a bug report: the state and the last events, without secrets. */
import type { Activity, HiloError, HiloStatus, Inspection } from '../../index.js'

/** As in package.json; a test checks it. */
export const VERSION = '0.1.0'

export interface Facts {
  status: HiloStatus
  inspections: readonly Inspection[]
  activities: readonly Activity[]
  /** The last error of the inspector's own calls. */
  problem: HiloError | undefined
  /** The page's address. */
  page: string
  browser: string
  time: number
}

/** As JSON text. */
export function report({
  status,
  inspections,
  activities,
  problem,
  page,
  browser,
  time,
}: Facts): string {
  const { origin, pathname } = new URL(page)
  const written = {
    package: `offline-hilo ${VERSION}`,
    time: new Date(time).toISOString(),
    browser,
    page: origin + pathname,
    status,
    ...(problem && { problem }),
    inspections,
    activities: activities.map(({ time: at, ...activity }) => ({
      time: new Date(at).toISOString(),
      ...activity,
    })),
  }
  return JSON.stringify(
    written,
    (_, value: unknown) => (value instanceof Error ? plain(value as HiloError) : value),
    2,
  )
}

const plain = ({ code, message, status, cause }: HiloError) => ({
  code,
  message: redact(message),
  status,
  cause: cause === undefined || cause instanceof Error ? cause : redact(String(cause)),
})

/**
 * Messages quote answers of servers. Removes all that looks like a token, a password or a signed
 * address.
 */
const redact = (message: string): string =>
  message.replace(/(?:Bearer|Basic)\s+\S+|\/\/[^/\s@]+@|\?\S+|[\w+=-]{24,}/gi, '…')
