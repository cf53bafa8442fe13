/**
 * Steps that arrive while a commit is under way share the next one: check-ins, give-backs, and
 * check-ins of series. Each works on the rows as the ones before it have left them. Guarantees that
 * a step which cannot be done fails alone. Steps about a bound collection delay no others: somebody
 * else may hold its row locked.
 */
import { batches, isOutage } from './batches.js'
import { authorityOf, distinct, keyText, serialText } from './collections.js'
import { type LedgerCore, withDatabases } from './core.js'
import type { RowChanges, Rows, Selection } from './row-store.js'

/** Such a step may select these rows only. */
export type SharedSelection = Pick<Selection, 'collections' | 'grants' | 'serials' | 'series'>

/** It may change these only. */
const SHARED = ['collections', 'grants', 'tombstones', 'series', 'databases'] as const
type SharedChanges = Pick<RowChanges, (typeof SHARED)[number]>

interface SharedStep<T> {
  database: string
  select: SharedSelection
  /** @returns `select`: it needs these rows, too. Nothing of the commit is saved before it has */
  step(rows: Rows): { answer: T; changes: SharedChanges } | { select: SharedSelection }
}

/** The steps that share their commits have this in common. */
export interface SharingCore extends LedgerCore {
  share<T>(step: SharedStep<T>): Promise<T>
}

type Outcome = { answer: unknown } | { failure: unknown }

interface Waiting {
  shared: SharedStep<unknown>
  settle(outcome: Outcome): void
}

export function withSharedCommits(core: LedgerCore): SharingCore {
  const { change, context } = core
  const waiting = batches<Waiting>(({ shared }) => 1 + (shared.select.grants?.length ?? 0), commit)

  /** The line of a step: of its bound collection, or of all others. */
  function lineOf({ collections = [], serials = [] }: SharedSelection): string {
    const found = [...collections, ...serials].find(
      (key) => authorityOf(context.bound, key) !== 'ledger',
    )
    return found ? keyText(found) : ''
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const steps = batch.map(({ shared }) => shared)
    const databases = distinct(steps, ({ database }) => database).map(({ database }) => database)
    try {
      const select = union(steps.map(({ select }) => select))
      const outcomes = await change(databases, { select, step: (rows) => inTurn(rows, steps) })
      for (const [i, { settle }] of batch.entries()) settle(outcomes[i]!)
    } catch (failure) {
      if (isOutage(failure) || batch.length === 1)
        for (const { settle } of batch) settle({ failure })
      else for (const each of batch) await commit([each])
    }
  }

  const share = <T>(shared: SharedStep<T>) =>
    new Promise<T>((resolve, reject) => {
      const settle = (outcome: Outcome) =>
        'failure' in outcome ? reject(outcome.failure) : resolve(outcome.answer as T)
      waiting.add(lineOf(shared.select), { shared, settle })
    })

  return { ...core, share }
}

/** Runs the steps one after the other, each on the rows as those before it leave them. */
function inTurn(
  found: Rows,
  steps: readonly SharedStep<unknown>[],
): { answer: Outcome[]; changes: SharedChanges } | { select: SharedSelection } {
  let rows = found
  const changed: SharedChanges[] = []
  const more: SharedSelection[] = []
  const answer = steps.map(({ step }): Outcome => {
    try {
      const result = step(rows)
      if ('select' in result) {
        more.push(result.select)
        return { answer: undefined }
      }
      requireShared(result.changes)
      changed.push(result.changes)
      rows = withChanges(rows, result.changes)
      return { answer: result.answer }
    } catch (failure) {
      return { failure }
    }
  })
  if (more.length > 0) return { select: union([found.selected, ...more]) }
  return {
    answer,
    changes: {
      collections: distinct(
        changed.flatMap(({ collections = [] }) => collections),
        keyText,
      ),
      grants: distinct(
        changed.flatMap(({ grants = [] }) => grants),
        ({ id }) => id,
      ),
      tombstones: distinct(
        changed.flatMap(({ tombstones = [] }) => tombstones),
        ({ id }) => id,
      ),
      series: distinct(
        changed.flatMap(({ series = [] }) => series),
        ({ grant }) => grant,
      ),
      databases: changed.flatMap(({ databases = [] }) => databases),
    },
  }
}

/** @throws Error where a step has changed a row that would not be saved */
function requireShared(changes: object): void {
  const other = Object.keys(changes).find((name) => !SHARED.some((known) => known === name))
  if (other !== undefined) throw new Error(`A step that shares its commit has changed '${other}'.`)
}

function withChanges(rows: Rows, changes: SharedChanges): Rows {
  const { collections = [], grants = [], tombstones = [], series = [] } = changes
  const kept = collections.map((row) => {
    const key = keyText(row)
    return [key, { ...row, binding: rows.collections.get(key)?.binding }] as const
  })
  return {
    ...withDatabases(rows, changes.databases),
    collections: new Map([...rows.collections, ...kept]),
    grants: new Map([...rows.grants, ...grants.map((row) => [row.id, row] as const)]),
    tombstones: new Map([...rows.tombstones, ...tombstones.map((row) => [row.id, row] as const)]),
    series: new Map([...rows.series, ...series.map((row) => [row.grant, row] as const)]),
  }
}

const union = (selections: readonly SharedSelection[]): SharedSelection => ({
  collections: distinct(
    selections.flatMap(({ collections = [] }) => collections),
    keyText,
  ),
  serials: distinct(
    selections.flatMap(({ serials = [] }) => serials),
    serialText,
  ),
  grants: [...new Set(selections.flatMap(({ grants = [] }) => grants))],
  series: [...new Set(selections.flatMap(({ series = [] }) => series))],
})
