/**
 * A proof as the ledger remembers it, beside the binding that it proves. Guarantees that a proof of
 * another binding proves nothing, and that an unproved one is refused before its first block is
 * taken, if the back end has made ids already, or makes ids elsewhere, too.
 */
import { bindingKey } from '../../../ledger/collections.js'
import type { Query } from '../../../ledger/counter-port.js'
import type { CollectionKey } from '../../../ledger/ledger.js'
import { putSetting } from '../../../sql/meta.js'
import type { Counter } from './counter-binding.js'
import { highestIn } from './counter-checks.js'
import { descriptionOf } from './counter-statements.js'
import { unnamedProblems } from './unnamed-columns.js'
import { nameOfColumn } from './used-ids.js'

/** Before the key of the binding. */
const PROOF_PREFIX = 'proof:'
/** Of a binding that was changed on an operator's word. */
const OUTDATED = ''

export const columnsOf = ({ ids }: Counter): string => ids.map(nameOfColumn).join(', ')

/** Says which binding was proved, and by which ids. */
const proofOf = (counter: Counter): string => `${descriptionOf(counter)} by ${columnsOf(counter)}`

export const proveCommand = ({ key }: Counter): string =>
  `npx offline-hilo-server check --prove ${key.database}/${key.collection}`

export const rememberProof = (query: Query, ledger: string, counter: Counter): Promise<unknown> =>
  query(putSetting(ledger), [PROOF_PREFIX + bindingKey(counter.key), proofOf(counter)])

/** The binding was changed: an earlier proof is no proof of it. */
export const forgetProof = (query: Query, ledger: string, key: CollectionKey): Promise<unknown> =>
  query(putSetting(ledger), [PROOF_PREFIX + bindingKey(key), OUTDATED])

/** Undefined: nobody has ever proved the collection's binding. */
async function readProof(
  query: Query,
  ledger: string | undefined,
  { key }: Counter,
): Promise<string | undefined> {
  if (ledger === undefined) return undefined
  const [row] = await query<{ value: string }>(
    `SELECT value FROM ${ledger}.hilo_meta WHERE key = $1`,
    [PROOF_PREFIX + bindingKey(key)],
  )
  return row?.value
}

/** @param ledger undefined: there is none */
export const isProven = async (
  query: Query,
  ledger: string | undefined,
  counter: Counter,
): Promise<boolean> => (await readProof(query, ledger, counter)) === proofOf(counter)

/**
 * The faults of a binding that nobody has proved.
 * @param taken as of `takenUpTo`
 */
export async function unprovenProblems(
  query: Query,
  ledger: string,
  counter: Counter,
  taken: number,
): Promise<string[]> {
  const { ids, sentinels, isUnproven, system } = counter
  if (ids.length === 0 || isUnproven) return []
  // guard: H20 a sequence that fills a column which is not named gives no first block
  const unnamed = taken > 0 ? [] : await unnamedProblems(query, counter)
  if (unnamed.length > 0) return unnamed
  const proof = await readProof(query, ledger, counter)
  // A binding that began in an empty table has no proof, and goes on.
  if (proof === undefined ? taken > 0 : proof === proofOf(counter)) return []
  if ((await highestIn(query, ids, sentinels)) === undefined) return []
  return [
    `${columnsOf(counter)} has ids, and nobody has seen that ${system} makes them as configured: ` +
      `${descriptionOf(counter)}. With a wrong strategy or size, ids would come twice. Prove it, ` +
      `while the back end stores a few records: ${proveCommand(counter)}. To go on without a ` +
      'proof, write "proved": false into the configuration.',
  ]
}
