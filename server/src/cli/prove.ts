/**
 * `check --prove`: watches a counter and the ids, while the back end stores a few records, and has
 * the ledger remember that they are as configured. It takes no number.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bound } from '../addons/bound/collections-setting.js'
import { firstOf } from '../addons/bound/orm/blocks.js'
import type { Counter } from '../addons/bound/orm/counter-binding.js'
import { alternativesTo, idProblems, shapeProblems } from '../addons/bound/orm/counter-checks.js'
import { descriptionOf, nameOf, nextValue } from '../addons/bound/orm/counter-statements.js'
import { explained } from '../addons/bound/orm/explained.js'
import {
  BLOCKS_NEEDED,
  isContradicted,
  isProved,
  type Look,
  watch,
} from '../addons/bound/orm/proof.js'
import { findCounter } from '../addons/bound/orm/relations.js'
import { columnsOf, proveCommand, rememberProof } from '../addons/bound/orm/remembered-proof.js'
import { quoted } from '../addons/bound/orm/sql-text.js'
import { countersIn } from '../addons/bound/orm/start-bindings.js'
import { unnamedProblems } from '../addons/bound/orm/unnamed-columns.js'
import { nameOfColumn } from '../addons/bound/orm/used-ids.js'
import { findSchemas } from '../addons/postgres/schemas.js'
import { bindingKey } from '../ledger/collections.js'
import type { Query } from '../ledger/counter-port.js'
import { CounterUnusable } from '../ledger/ledger-errors.js'
import type { ServeOptions } from '../serve.js'
import { boundCollections, withPool } from './counters.js'

export interface Proving {
  /** `database/collection`. Default: the only one that is bound to a counter. */
  name?: string | undefined
  /** After so long it gives up. */
  seconds: number
  /** Hears each line for the terminal. */
  say(line: string): void
  /** Between two looks. Default: 200 ms. */
  pause?(): Promise<unknown>
}

const SAME_WAY =
  'If the back end may make ids there in another way, run this again and store records there.'

/** @throws Error that names the ids that were seen instead, or says that none were */
export async function prove(options: ServeOptions, proving: Proving): Promise<void> {
  const { counter: configured } = chosen(options, proving.name)
  const { databaseUrl } = options
  if (databaseUrl === undefined)
    throw new Error('Give --database-url: the counter is in PostgreSQL, and so is the ledger.')
  if (configured.ids.length === 0)
    throw new Error(
      `ids of ${bindingKey(configured.key)} is false, so nobody can look. Name the column with ` +
        'the ids, like "orders.id".',
    )
  await withPool(databaseUrl, async (pool) => {
    const { ledger, path } = await findSchemas(pool)
    if (ledger === undefined)
      throw new Error(
        'There is no ledger yet that could remember the proof. Make it first: ' +
          'npx offline-hilo-server init.',
      )
    await explained(configured, async () => {
      const counter = await findCounter(pool.query, path, configured)
      const seen = await watchUntilProved(pool.query, counter, proving, options.first ?? false)
      await rememberProof(pool.query, ledger, counter)
      const unseen = counter.ids.map(nameOfColumn).filter((column) => !seen.has(column))
      proving.say(
        `Proved: ${descriptionOf(counter)} makes the ids in ${[...seen].join(', ')}.` +
          (unseen.length === 0 ? '' : ` No record came in ${unseen.join(', ')}. ${SAME_WAY}`),
      )
    })
  })
}

function chosen(options: ServeOptions, name: string | undefined): Bound & { authority: 'counter' } {
  const counters = countersIn(boundCollections(options))
  const found = counters.filter(([key]) => name === undefined || key === name.toLowerCase())
  if (found.length === 1) return found[0]![1]
  const names = counters.map(([, { database, collection }]) => `${database}/${collection}`)
  throw new Error(
    `--prove is for one collection that is bound to a counter: ${name ?? 'none was named'}. ` +
      (names.length > 0 ? `There are: ${names.join(', ')}.` : 'None is bound.'),
  )
}

async function watchUntilProved(
  query: Query,
  counter: Counter,
  { seconds, say, pause = () => sleep(200) }: Proving,
  isFirst: boolean,
): Promise<Set<string>> {
  const { blocks, system } = counter
  // With something granted, only ids are compared that the counter has still to give.
  const problems = await shapeProblems(query, counter, isFirst)
  problems.push(...(await unnamedProblems(query, counter)))
  if (problems.length === 0) problems.push(...(await idProblems(query, counter, 1)))
  if (problems.length > 0) throw new CounterUnusable(problems.join('\n'))
  const above = firstOf(blocks, await nextValue(query, counter)) - 2n * blocks.size
  let last = await look(query, counter, above)
  let judged = last
  const judge = watch(blocks, last)
  say(
    `Watching ${nameOf(counter)} and ${columnsOf(counter)}. Let ${system} store records, one ` +
      'at a time, each when the one before is shown here, until it has begun ' +
      `${BLOCKS_NEEDED} blocks. ` +
      'It begins one after a restart, too. Let one process of it run, and no server of this ' +
      'ledger.',
  )
  let right = 0
  const columns = new Set<string>()
  for (const end = Date.now() + seconds * 1_000; ; ) {
    await pause()
    const now = await look(query, counter, above)
    const isQuiet = isSame(now, last)
    last = now
    if (isQuiet && !isSame(now, judged)) {
      judged = now
      const seen = judge(now)
      for (const id of seen.fresh) columns.add(now.columns.get(id)!)
      const isNew = seen.right.length > right
      right = seen.right.length
      say(
        `${seen.fresh.join(', ') || 'no id'} came, and ${now.next} is next` +
          (isNew ? `: a block begins as configured (${right} of ${BLOCKS_NEEDED})` : ''),
      )
      if (isContradicted(seen)) throw contradiction(counter, seen)
      if (isProved(seen)) return columns
    }
    if (Date.now() > end) throw tooLate(counter, seconds, right)
  }
}

async function look(query: Query, { ids, sentinels, ...counter }: Counter, above: bigint) {
  /** Which column has an id. */
  const columns = new Map<bigint, string>()
  for (const { table, column } of ids) {
    const id = `t.${quoted(column)}`
    const rows = await query<{ id: string }>(
      `SELECT ${id}::text AS id FROM ${table} AS t WHERE ${id} > $1::bigint ORDER BY ${id}`,
      [String(above)],
    )
    for (const row of rows) columns.set(BigInt(row.id), nameOfColumn({ table, column }))
  }
  for (const sentinel of sentinels) columns.delete(sentinel)
  const next = await nextValue(query, { ids, sentinels, ...counter })
  return { ids: [...columns.keys()], next, columns }
}

const isSame = (a: Look, b: Look): boolean => a.next === b.next && `${a.ids}` === `${b.ids}`

function contradiction(
  counter: Counter,
  { wrong, early }: ReturnType<ReturnType<typeof watch>>,
): CounterUnusable {
  const { blocks, strategy, size, system } = counter
  const by = `${strategy} with ${size}`
  const again =
    `Correct strategy or size, as ${system} has them. If several processes of it stored records ` +
    `at once, let one do it. Then run this again: ${proveCommand(counter)}. Nothing was changed.`
  if (early !== undefined)
    return new CounterUnusable(
      `Not proved. The back end made the id ${early}, and by ${by} ${nameOf(counter)} has still ` +
        `to give it: ids would come twice. ${again}`,
    )
  const jumps = wrong.map(
    ({ value, id }) => `of ${value} it made ${id}, and ${by} makes ${firstOf(blocks, value)}`,
  )
  const fitting = alternativesTo(counter).filter((other) =>
    wrong.every(({ value, id }) => firstOf(other.blocks, value) === id),
  )
  const [one, two] = wrong as [(typeof wrong)[0], (typeof wrong)[0]]
  const distance = ((two.id - one.id) * blocks.step) / (two.value - one.value)
  const fit = fitting.map(({ name }) => name).join(', ')
  const hint = fit
    ? `${fit} makes what was made. `
    : `Two values that follow each other are ${distance} ids apart there. `
  return new CounterUnusable(`Not proved: ${jumps.join('; ')}. ${hint}${again}`)
}

const tooLate = ({ blocks }: Counter, seconds: number, right: number): Error =>
  new Error(
    `Not proved: in ${seconds} seconds, the back end began ${right} of ${BLOCKS_NEEDED} blocks ` +
      `while it stored one record. A block has ${blocks.size} ids here. Store one record at a ` +
      'time, in the tables that `ids` names. After a restart, the back end begins a block with ' +
      'its next record. Nothing was changed.',
  )
