/**
 * A table for a terminal: a line of titles, then one line per item. Guarantees that no character of
 * a name hides, turns the text around or begins a line.
 */

import { visible } from '../http/parameters.js'

/** Numbers are aligned at their right. */
export type Column<T> = [title: string, read: (item: T) => string | number]

export function table<T>(columns: readonly Column<T>[], items: readonly T[]): string {
  const cells = items.map((item) => columns.map(([, read]) => read(item)))
  const rows = [columns.map(([title]) => title), ...cells.map((row) => row.map(visible))]
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  const isNumber = columns.map((_, i) => cells.some((row) => typeof row[i] === 'number'))
  const line = (row: string[]) =>
    row
      .map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd()
  return `${rows.map(line).join('\n')}\n`
}
