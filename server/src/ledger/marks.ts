/**
 * Sets how far collections have gone, because an operator or a client says so. Pure. Guarantees
 * that `max` never goes below a number that a grant holds, and that a floor never goes down.
 */
import { authorityOf, refuseChanged } from './bound-collections.js'
import type { LedgerContext } from './context.js'
import type { CounterAnswers, CounterAsk } from './counter-port.js'
import { CounterUnusable } from './errors.js'
import { keyText } from './keys.js'
import type { Floor, Mark, MarkRefusal, MarkWrite, UpstreamPiece } from './ledger.js'
import { move } from './number-line.js'
import { isRestored } from './restored.js'
import type { Rows, StepResult } from './row-store.js'
import { type CollectionRow, toMark, withFloor, withLine } from './rows.js'
import { unstock } from './stock.js'

/** All of the writes, or none. */
export function writeMarks(
  rows: Rows,
  writes: readonly MarkWrite[],
  { bound, limits }: LedgerContext,
): StepResult<Mark[] | MarkRefusal> {
  const written = new Map<string, CollectionRow>()
  const marks: Mark[] = []
  for (const write of writes) {
    const key = keyText(write)
    const loaded = rows.collections.get(key)
    const row = written.get(key) ?? loaded
    const refuse = (refused: MarkRefusal['refused']): StepResult<MarkRefusal> => ({
      answer: { refused, write, mark: toMark(row) },
      changes: {},
    })
    if (isRestored(rows, write.database)) return refuse('restored')
    if (authorityOf(bound, write) !== 'ledger') return refuse('bound')
    if (!row) return refuse('full')
    refuseChanged(bound, write, loaded?.binding)
    if (write.version !== undefined && write.version !== row.version) return refuse('conflict')
    if (write.max > row.max + limits.maxJump) return refuse('jump')
    if (write.max > Math.max(row.max, limits.maxId)) return refuse('overflow')
    // guard: H22 max does not go below a number of a grant that was forgotten
    const held = Math.max(rows.held.get(key) ?? 0, row.forgotten)
    const moved = withLine(row, move(row, write.max, held))
    // A written document has a version, also `{"Max": 0}`.
    const isFirst = moved.version === 0
    written.set(key, isFirst ? { ...moved, version: 1 } : moved)
    marks.push(toMark(written.get(key)))
  }
  return { answer: marks, changes: { collections: [...written.values()] } }
}

/** The counter of an ORM is raised with the floor: the next block comes from above it. */
export function asksOfFloor(
  rows: Rows,
  { floor, ...key }: Floor,
  { bound }: LedgerContext,
): CounterAsk[] {
  refuseChanged(bound, key, rows.collections.get(keyText(key))?.binding)
  if (authorityOf(bound, key) !== 'counter') return []
  return [{ ...key, raiseTo: floor, above: floor, missing: 0 }]
}

export function raiseFloor(
  rows: Rows,
  request: Floor,
  answers: CounterAnswers,
): StepResult<number> {
  const { collection, floor } = request
  const key = keyText(request)
  const row = rows.collections.get(key)!
  if (answers.get(key)?.isAtEnd)
    throw new CounterUnusable(
      `No block of '${collection}' is left above ${floor}: the id column ends before (maxId). ` +
        'Nothing was changed.',
    )
  const raised = withFloor(row, floor)
  return { answer: raised.max, changes: { collections: [raised] } }
}

export function withdraw(rows: Rows, piece: UpstreamPiece): StepResult<number | undefined> {
  const row = rows.collections.get(keyText(piece))
  // An older copy's free numbers may have been granted since.
  const isFree = !isRestored(rows, piece.database)
  const taken = isFree && row && unstock(row, piece.end, piece.node)
  if (!taken) return { answer: undefined, changes: {} }
  return { answer: taken.span[0], changes: { collections: [withLine(row, taken.line)] } }
}
