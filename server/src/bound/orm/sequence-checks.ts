/** Compares a sequence with the configuration of its collection, and says what is wrong. */
import type { Query } from '../../ledger/counter-port.js'
import { lastValue } from './blocks.js'
import type { Binding, SequencePlace } from './counter-options.js'
import { quoted } from './counter-statements.js'

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
  binding: Binding,
  place: SequencePlace,
): Promise<string[]> {
  const [found] = await query<SequenceFacts>(
    `SELECT c.relkind AS kind, c.relpersistence AS persistence,
       seqincrement::text AS increment, seqmax::text AS maximum, seqstart::text AS start,
       seqcache::text AS cache, seqcycle AS cycle, current_user AS role,
       has_sequence_privilege(seqrelid, 'USAGE, UPDATE') AS takes,
       has_sequence_privilege(seqrelid, 'SELECT') AS reads
     FROM pg_class c LEFT JOIN pg_sequence ON seqrelid = c.oid WHERE c.oid = to_regclass($1)`,
    [quoted(place.sequence)],
  )
  if (found?.kind !== 'S')
    return [await missingText(query, 'sequence', place.sequence, found !== undefined)]
  const { blocks, strategy, size, first, system } = binding
  const name = place.sequence
  const problems: string[] = []
  if (!found.takes || !found.reads)
    problems.push(
      `Role ${found.role} may not take from sequence ${name}. As its owner: GRANT USAGE, ` +
        `SELECT ON SEQUENCE ${quoted(name)} TO ${quoted(found.role)}.`,
    )
  const isMovedRight = BigInt(found.increment) === blocks.step
  if (!isMovedRight)
    problems.push(
      `Sequence ${name} moves by ${found.increment}, but ${strategy} with ${size} needs it to ` +
        `move by ${blocks.step}: blocks would overlap or leave gaps. ` +
        `Find out what ${system} is configured with, and correct strategy or ` +
        `${size.split(' ')[0]} here. Leave the sequence as it is: ${system} counts by it.`,
    )
  if (found.cycle)
    problems.push(
      `Sequence ${name} is CYCLE: at its end it would begin again with ids that are in use. ` +
        `ALTER SEQUENCE ${quoted(name)} NO CYCLE.`,
    )
  if (found.cache !== '1')
    problems.push(
      `Sequence ${name} has CACHE ${found.cache}: each connection keeps values of its own, so ` +
        'nobody can see that the counter went backwards. ' +
        `ALTER SEQUENCE ${quoted(name)} CACHE 1.`,
    )
  if (found.persistence === 'u')
    problems.push(
      `Sequence ${name} is UNLOGGED: a crash sets it back. ALTER SEQUENCE ${quoted(name)} ` +
        'SET LOGGED.',
    )
  if (isMovedRight && BigInt(found.maximum) < lastValue(blocks, binding.maxId) - blocks.step)
    problems.push(
      `Sequence ${name} ends at ${found.maximum}, before the ids reach maxId ${binding.maxId}. ` +
        `Lower maxId, or ALTER SEQUENCE ${quoted(name)} AS bigint MAXVALUE ` +
        `${lastValue(blocks, binding.maxId)}.`,
    )
  if (first !== undefined && BigInt(found.start) !== first)
    problems.push(
      `Sequence ${name} starts with ${found.start}, but initialValue is ${first}. ${strategy} ` +
        'needs both to be the same: correct initialValue.',
    )
  return problems
}

export async function missingText(
  query: Query,
  kind: 'sequence' | 'table',
  name: string,
  isThere: boolean,
): Promise<string> {
  if (isThere) return `${name} is no ${kind}. Correct the configuration.`
  const folded = name.toLowerCase()
  const [other] =
    folded === name
      ? []
      : await query<{ found: string | null }>('SELECT to_regclass($1)::text AS found', [
          quoted(folded),
        ])
  const hint = other?.found
    ? `There is ${folded}: PostgreSQL folds names that were created without quotes. Write it so.`
    : 'Correct the name (schema.name, where it is not in the search path), or let the back end ' +
      'create it first.'
  return `There is no ${kind} ${name} in this database. ${hint}`
}
