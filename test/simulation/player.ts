/**
 * A process that plays the schedules it is sent. For a batch it reports a tally, for a single one
 * all events.
 */
import { MemoryStorage } from './ledger-storage.js'
import { OwnServers } from './own-servers.js'
import { chooseProfile } from './profile.js'
import { createRandom } from './random.js'
import { ReplacedLedger } from './replaced-ledger.js'
import { add, emptyTally } from './report.js'
import { type Outcome, simulate } from './simulate.js'
import { SqliteStorage } from './sqlite-storage.js'
import { type WordName, Words } from './words.js'

interface Task {
  /** Words that are switched on. */
  words?: readonly WordName[]
}

/** Seeds that follow one another. */
export interface Batch extends Task {
  from: number
  count: number
}

/** One schedule in full. `onSqlite`: in SQLite, whatever its seed says. */
export interface Told extends Task {
  told: number
  onSqlite?: boolean
}

/** One schedule in this many keeps the ledgers in SQLite, because that takes far longer. */
const SQLITE_EVERY = 20

const inMemory = new OwnServers(() => new MemoryStorage())

process.on('message', async (asked: Batch | Told) => {
  process.send!('told' in asked ? await tell(asked) : await tallyOf(asked))
})

async function tallyOf({ from, count, words = [] }: Batch) {
  const tally = emptyTally()
  for (let seed = from; seed < from + count; seed++)
    add(tally, await tell({ told: seed, words }, false))
  return tally
}

const isOnSqlite = (seed: number, words: readonly WordName[]): boolean =>
  seed % SQLITE_EVERY === 0 ||
  ReplacedLedger.happens(seed, new Words(seed, chooseProfile(createRandom(seed)), words).profile)

async function tell(
  { told: seed, words = [], onSqlite = isOnSqlite(seed, words) }: Told,
  wantsTrace = true,
): Promise<Outcome> {
  if (!onSqlite) return simulate(seed, inMemory, wantsTrace, words)
  const servers = new OwnServers(() => new SqliteStorage())
  try {
    return await simulate(seed, servers, wantsTrace, words)
  } finally {
    await servers.remove()
  }
}
