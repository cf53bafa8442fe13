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
  /** Only these words (words.ts). */
  words?: readonly WordName[] | undefined
}

/** Seeds that follow one another. */
export interface Batch extends Task {
  from: number
  count: number
}

/** One schedule in full. `onSqlite`: whether in SQLite, whatever its seed says. */
export interface Told extends Task {
  told: number
  onSqlite?: boolean
}

/**
 * Of the schedules with a server of our own, one in this many keeps its ledger in memory, and the
 * others in SQLite, as a server without PostgreSQL does. That is more than a third of all.
 */
const IN_MEMORY_EVERY = 3

const inMemory = new OwnServers(() => new MemoryStorage())
const onDisk = new OwnServers(() => new SqliteStorage())

process.on('message', async (asked: Batch | Told) => {
  process.send!('told' in asked ? await tell(asked) : await tallyOf(asked))
})
process.once('disconnect', () => onDisk.remove())

const wordsOf = (seed: number, words?: readonly WordName[]): Words =>
  new Words(seed, chooseProfile(createRandom(seed)), words)

async function tallyOf({ from, count, words }: Batch) {
  const tally = emptyTally()
  for (let seed = from; seed < from + count; seed++) {
    // Without the word that was named, a schedule tells nothing new.
    if (!words || wordsOf(seed, words).areSpoken)
      add(tally, await tell({ told: seed, words }, false))
  }
  return tally
}

async function tell(
  { told: seed, words, onSqlite = seed % IN_MEMORY_EVERY > 0 }: Told,
  wantsTrace = true,
): Promise<Outcome> {
  const { profile } = wordsOf(seed, words)
  if (!ReplacedLedger.happens(seed, profile))
    return simulate(seed, onSqlite ? onDisk : inMemory, wantsTrace, words)
  // Its files are moved, so nobody else has them.
  const servers = new OwnServers(() => new SqliteStorage())
  try {
    return await simulate(seed, servers, wantsTrace, words)
  } finally {
    await servers.remove()
  }
}
