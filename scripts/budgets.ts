/** What a browser may download of each entry, and what an installation of each package may add. */
import { BROWSER_PACKAGE, SERVER_PACKAGE } from './packages.js'

export const kB = 1000

export interface Limits {
  budget?: number
  goal?: number
}

/**
 * A budget is raised only for a feature, or to close a fault. docs/internals/performance.md says
 * why a goal is not reached.
 */
export const ENTRIES: (Limits & { name: string; file: string })[] = [
  { name: 'page', file: 'client/index.js', budget: 17.85 * kB, goal: 11.9 * kB },
  { name: 'worker', file: 'worker/entry.js', budget: 22.9 * kB, goal: 14.8 * kB },
  { name: 'inspector', file: 'addons/inspector/index.js', budget: 9 * kB },
  { name: 'raven (with its pluraliser)', file: 'addons/raven.js' },
  { name: 'format (with its cipher)', file: 'addons/format.js' },
  { name: 'react', file: 'addons/react.js' },
  { name: 'consecutive', file: 'addons/consecutive/index.js', budget: 15.3 * kB },
  { name: 'consecutive/chain', file: 'addons/consecutive/chain.js', budget: 3.55 * kB },
  { name: 'source', file: 'source/index.js' },
  { name: 'textbook', file: 'addons/textbook.js' },
]

/** Without the packages that each depends on. The browser package depends on none. */
export const INSTALLED = [
  { ...BROWSER_PACKAGE, budget: 1_000 * kB },
  { ...SERVER_PACKAGE, budget: 1_120 * kB },
]
