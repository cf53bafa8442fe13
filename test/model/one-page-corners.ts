/** How often each event may happen to the one page that is explored, corner by corner. */

/** How often each event may happen in one history. */
export interface PageBounds {
  calls: number
  takes: number
  /** Grants of the server that a page waits for. */
  grants: number
  /** Grants of another node of the server. */
  nodes: number
  /** Messages that newer ones have overtaken. */
  lates: number
  failures: number
  hangs: number
  /** The page is hidden, and shown again. */
  visits: number
  /** Another page takes or brings numbers, or has none left. */
  others: number
  forks: number
  renewals: number
  releases: number
  closes: number
  switches: number
  /** Timers that go off. */
  timers: number
}

export const NONE: PageBounds = {
  calls: 0,
  takes: 0,
  grants: 0,
  nodes: 0,
  lates: 0,
  failures: 0,
  hangs: 0,
  visits: 0,
  others: 0,
  forks: 0,
  renewals: 0,
  releases: 0,
  closes: 0,
  switches: 0,
  timers: 0,
}

/** The corners that are explored to the end, by name. */
export const PAGE_CORNERS: Record<string, Partial<PageBounds>> = {
  'callers that come while a page asks, is refused and asks again': {
    calls: 2,
    grants: 1,
    failures: 2,
    timers: 1,
  },
  'a storage that hangs while callers wait': { calls: 2, grants: 1, hangs: 2, timers: 3 },
  'a page that is hidden, shown and left while it asks': {
    calls: 1,
    takes: 1,
    grants: 1,
    visits: 2,
    closes: 1,
    timers: 1,
  },
  'other pages that take, bring and want numbers': {
    calls: 2,
    grants: 1,
    others: 2,
    timers: 1,
  },
  'a fork, and new tokens': { calls: 1, takes: 1, grants: 2, forks: 1, renewals: 1, timers: 1 },
  'two nodes, and messages that come late': {
    calls: 1,
    takes: 2,
    grants: 1,
    nodes: 1,
    lates: 1,
    forks: 1,
    timers: 1,
  },
  'a node that changes while numbers are offered': {
    calls: 1,
    grants: 1,
    nodes: 1,
    lates: 1,
    visits: 1,
    timers: 2,
  },
  'a release beside callers': { calls: 2, grants: 1, releases: 1, failures: 1, timers: 1 },
  'an app that goes offline and online': {
    calls: 1,
    grants: 1,
    failures: 1,
    switches: 2,
    timers: 1,
  },
}
