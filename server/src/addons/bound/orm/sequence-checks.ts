/** Compares a sequence with the configuration of its collection, and reports each fault. */
import type { Query } from '../../../ledger/counter-port.js'
import { lastValue } from './blocks.js'
import type { Counter, Relation, SequenceLocation } from './counter-binding.js'
import { adoptCommand } from './counter-statements.js'
import { quoted } from './sql-text.js'
import { STRATEGIES } from './strategies.js'

interface SequenceFacts {
  kind: string
  persistence: string
  increment: string
  maximum: string
  start: string
  cache: string
  cycle: boolean
  takes: boolean
  reads: boolean
  role: string
}

export async function sequenceProblems(
  query: Query,
  binding: Counter,
  location: SequenceLocation<Relation>,
): Promise<string[]> {
  const [found] = await query<SequenceFacts>(
    `SELECT c.relkind AS kind, c.relpersistence AS persistence,
       seqincrement::text AS increment, seqmax::text AS maximum, seqstart::text AS start,
       seqcache::text AS cache, seqcycle AS cycle, current_user AS role,
       pg_catalog.has_sequence_privilege(seqrelid, 'USAGE, UPDATE') AS takes,
       pg_catalog.has_sequence_privilege(seqrelid, 'SELECT') AS reads
     FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_sequence ON seqrelid = c.oid
     WHERE c.oid = pg_catalog.to_regclass($1)`,
    [location.sequence],
  )
  if (found?.kind !== 'S') return [wrongText('sequence', location.sequence, found !== undefined)]
  const { blocks, strategy, size, first, system } = binding
  const name = location.sequence
  const problems: string[] = []
  if (!found.takes || !found.reads)
    problems.push(
      `Role ${found.role} may not take from sequence ${name}. As its owner: GRANT USAGE, ` +
        `SELECT ON SEQUENCE ${name} TO ${quoted(found.role)}.`,
    )
  const isMovedRight = BigInt(found.increment) === blocks.step
  const settings = ['strategy', STRATEGIES[strategy].size ?? []].flat().join(' or ')
  if (!isMovedRight)
    problems.push(
      `Sequence ${name} moves by ${found.increment}, but ${strategy} with ${size} needs it to ` +
        `move by ${blocks.step}: blocks would overlap or leave gaps. ` +
        `Find out what ${system} is configured with. If it is something else, correct ` +
        `${settings} here, and leave the sequence as it is. If it is just that, the sequence is ` +
        `the fault, for ${system}, too. Stop the back end, then: ALTER SEQUENCE ` +
        `${name} INCREMENT BY ${blocks.step}; then ${adoptCommand(binding)}.`,
    )
  if (found.cycle)
    problems.push(
      `Sequence ${name} is CYCLE: at its end it would begin again with ids that are in use. ` +
        `ALTER SEQUENCE ${name} NO CYCLE.`,
    )
  if (found.cache !== '1')
    problems.push(
      `Sequence ${name} has CACHE ${found.cache}: each connection keeps values of its own, so ` +
        'nobody can see that the counter went backwards. ' +
        `ALTER SEQUENCE ${name} CACHE 1.`,
    )
  if (found.persistence === 'u')
    problems.push(
      `Sequence ${name} is UNLOGGED: a crash sets it back. ALTER SEQUENCE ${name} SET LOGGED.`,
    )
  if (isMovedRight && BigInt(found.maximum) < lastValue(blocks, binding.maxId) - blocks.step)
    problems.push(
      `Sequence ${name} ends at ${found.maximum}, before the ids reach maxId ${binding.maxId}. ` +
        `Lower maxId, or ALTER SEQUENCE ${name} AS bigint MAXVALUE ` +
        `${lastValue(blocks, binding.maxId)}.`,
    )
  if (first !== undefined && BigInt(found.start) !== first)
    problems.push(
      `Sequence ${name} starts with ${found.start}, but initialValue is ${first}. ${strategy} ` +
        'needs both to be the same: correct initialValue.',
    )
  return problems
}

/** Of a relation that was found when the process started. */
export const wrongText = (kind: 'sequence' | 'table', name: Relation, isThere: boolean): string =>
  isThere
    ? `${name} is no ${kind}. Correct the configuration.`
    : `There is no ${kind} ${name} any more in this database. Put it back, or start the ` +
      'server again.'
