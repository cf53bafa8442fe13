/**
 * The word `another-name`: a proxy leads the requests of some devices to another database of the
 * same server for a while, as one that takes a tenant for another one. That database counts for
 * itself, so to a device it is another ledger (H34).
 */
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

const LONGEST_MS = 100_000
const LED = 'a proxy leads to another database'

/** What the proxy puts behind the name of a database. */
const OTHER = '-other'

/** Under which name an answer, or a grant, is told of. */
export const ledgerOf = (ledger: string, database: string): string =>
  database.endsWith(OTHER) ? `${ledger}${OTHER}` : ledger

export const ledElsewhere = (url: URL, database: string): URL =>
  new URL(url.href.replace(`/${database}/`, `/${database}${OTHER}/`))

export const anotherName: Word = {
  fits: isOneLedger,
  isAlone: true,
  happens(simulation, { name }, random) {
    const { ledElsewhere, scheduler, driver, replacedLedger } = simulation
    if (replacedLedger || simulation.hits.has(LED)) return
    simulation.hit(LED)
    ledElsewhere.add(name)
    const back = random.between(1, LONGEST_MS)
    scheduler.post(driver, back, `${name} is led back`, () => ledElsewhere.delete(name))
  },
  heal({ ledElsewhere }) {
    ledElsewhere.clear()
  },
}
