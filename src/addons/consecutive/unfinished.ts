/** The numbers that nobody has settled. A page loads this file on demand: no number needs it. */
import type { NumberRow } from '../../device/series-store.js'
import { checkCall, must } from './checks.js'
import type { UnfinishedNumber } from './index.js'
import { PREFIX } from './living.js'
import { takenBefore } from './numbers.js'
import { handedOut, numberOf } from './rows.js'
import { readState } from './state.js'
import type { SeriesStorage } from './storage.js'

/** @throws HiloError `invalid-argument` */
export async function unfinished(
  storage: SeriesStorage,
  options: { all?: boolean } | undefined,
): Promise<UnfinishedNumber[]> {
  const { all = false } = checkCall(options, 'all')
  must(typeof all === 'boolean', 'all is true or false', all)
  const open = await storage.read(async (tx) => {
    const [stored, rows] = await Promise.all([tx.state(), tx.openNumbers()])
    const state = readState(stored)
    return rows.map((row) => ({ row, isOut: takenBefore(row, state).isOut }))
  })
  // After the numbers: a page has its lock before it takes one.
  const living = await livingPages()
  const isLiving = ({ page }: NumberRow) => page !== undefined && living.has(page)
  const left = open.filter(({ row }) => !isLiving(row))
  const hidden = left.filter(({ isOut }) => !isOut)
  // The reader of a number may write it onto a receipt.
  if (hidden.length > 0)
    await handOut(
      storage,
      hidden.map(({ row }) => row),
    )
  const shown = all ? open.filter(({ row, isOut }) => isOut || !isLiving(row)) : left
  return shown.map(({ row }) => ({
    id: row.id,
    ...numberOf(row),
    key: row.key!,
    ...(isLiving(row) && { isLiving: true }),
  }))
}

/** These numbers are handed out, if they are still open. */
const handOut = (storage: SeriesStorage, rows: readonly NumberRow[]): Promise<void> =>
  storage.write(async (tx) => {
    const isSame = (a: NumberRow, b: NumberRow) => a.letter === b.letter && a.place === b.place
    for (const row of await tx.openNumbers())
      if (rows.some((each) => isSame(each, row))) tx.saveNumber(handedOut(row))
  })

/** The names of the pages that live. */
async function livingPages(): Promise<ReadonlySet<string>> {
  try {
    const { held = [] } = await navigator.locks.query()
    return new Set(
      held.flatMap(({ name }) => (name?.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [])),
    )
  } catch {
    // Not in this place, or not in this frame.
    return new Set()
  }
}
