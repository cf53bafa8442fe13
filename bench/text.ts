/** What the benches print: Markdown tables, ratios before times, and the machine they ran on. */
import { cpus, release, totalmem, type } from 'node:os'

/** A Markdown table; all but the first column are flush right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, i) =>
    Math.max(title.length, 3, ...rows.map((row) => row[i]!.length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => pad(cell, widths[i]!, i)).join(' | ')} |`
  const rules = widths.map((width, i) => '-'.repeat(width + 1) + (i === 0 ? '-' : ':'))
  return [line(header), `|${rules.join('|')}|`, ...rows.map(line)].join('\n')
}

export const times = (ratio: number): string => `${figure(ratio)} ×`

/** A number with three digits. A time that was too short for the clock has no number. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '?'
  const digits =
    value === 0 ? 0 : Math.min(2, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))))
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

/** One figure of each engine. */
export const inEach = (figures: readonly (readonly [engine: string, figure: string])[]): string =>
  figures.map(([engine, figure]) => `${engine.split(' ')[0]} ${figure}`).join(', ')

export const count = (value: number): string => Math.round(value).toLocaleString('en')

export const median = (values: readonly number[]): number => percentile(values, 0.5)

/** @param share 0.99: 99 of 100 values are at or below the result */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}

export function machine(): string {
  const memory = (totalmem() / 2 ** 30).toFixed(0)
  return (
    `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${memory} GB, ${type()} ${release()}, ` +
    `Node ${process.version}`
  )
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width)
}
