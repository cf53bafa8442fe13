/**
 * All series and chains of a device as JSON Lines, to be read without this package: a head, a line
 * for each number, record and entry in the order of making, and the totals with the result of the
 * check. Or its numbers as a table.
 */
import { isPlain } from '../../core/check-keys.js'
import { marksOf } from '../../core/series-marks.js'
import { VERSION } from '../../core/version.js'
import type { Link, NumberRow } from '../../device/series-store.js'
import { verified } from './chain-verify.js'
import { checkCall, frozen, must } from './checks.js'
import type { Rule } from './links.js'
import type { StoredSeries } from './numbers.js'
import { present } from './present.js'
import { type NumberState, type ReportedNumber, reportOf, type SeriesReport } from './report.js'
import type { SeriesState } from './state.js'
import { newSum } from './sum.js'

export interface ExportOptions {
  /** Put into the head: the issuer of the documents, and the place. */
  head?: Record<string, unknown>
  /** Only the numbers of this period, and their totals. Default: all, also records and entries. */
  period?: string
  /**
   * `jsonl`: JSON Lines. `csv`: a table of the numbers alone. There an apostrophe stands before a
   * text that a table program would take for a formula. Default: `jsonl`.
   */
  form?: 'jsonl' | 'csv'
}

/**
 * One line after another, each with its end.
 * @throws HiloError `invalid-argument`
 */
export async function* exported(
  stored: StoredSeries,
  about: object,
  asked: ExportOptions | undefined,
  rule: Rule | undefined,
): AsyncGenerator<string, void> {
  const { head, period, form = 'jsonl' } = checkCall(asked, 'head', 'period', 'form')
  const own = frozen(head ?? {}, 'head')
  must(isPlain(own), 'head is an object', head)
  must(form === 'jsonl' || form === 'csv', "form is 'jsonl' or 'csv'", form)
  must(period === undefined || typeof period === 'string', 'period is a text', period)
  const { state, numbers, links, entries } = stored
  const reports = reportOf(stored).map(({ numbers, ...of }) => ({
    ...of,
    numbers: numbers.filter((number) => period === undefined || number.period === period),
  }))
  const linkAt = new Map(links.map((link) => [textOf(link.chain, link.at), link]))
  const linkOf = new Map(
    numbers.map(({ letter, id, link }) => [
      textOf(letter, id),
      link && linkAt.get(textOf(link.chain, link.at)),
    ]),
  )
  const rows = reports.flatMap(({ series, numbers }) =>
    numbers.map((number) => rowOf(series, number, linkOf.get(textOf(series, number.id)))),
  )
  if (form === 'csv') {
    yield csvOf(COLUMNS)
    for (const row of rows) yield csvOf(COLUMNS.map((column) => (row as Cells)[column]))
    return
  }
  const ofNumbers = new Set(linkOf.values())
  const isWhole = period === undefined
  const records = isWhole
    ? links.filter((link) => !ofNumbers.has(link)).map((link) => ({ record: 'record', ...link }))
    : []
  const register = isWhole ? entries.map((entry) => ({ record: 'entry', ...entry })) : []
  const sum = newSum()
  const line = (of: object) => `${JSON.stringify(of)}\n`
  const write = (of: object) => {
    const text = line(of)
    sum.add(text)
    return text
  }
  yield write({
    ...own,
    record: 'head',
    ...present(about),
    ...(rule && { rule: { id: rule.id, ...rule.head } }),
    rules: [...new Set(numbers.flatMap(({ rule }) => rule ?? []))],
    period,
    software: `offline-hilo ${VERSION}`,
    exportedAt: new Date().toISOString(),
    series: reports.map(seriesOf),
    count: rows.length + records.length,
  })
  for (const of of inOrder(rows, records)) yield write(of)
  for (const entry of register) yield write(entry)
  const { broken, chains, flagged = [] } = await verified(stored, undefined, rule)
  yield line({
    record: 'end',
    totals: { ...totalsOf(reports), ...heardIn(state, numbers) },
    outages: reports.flatMap(outagesIn),
    check: { broken, chains, flagged },
    sha256: sum.hex(),
  })
}

type Cells = Partial<Record<(typeof COLUMNS)[number], unknown>>

const COLUMNS = [
  'series',
  'period',
  'number',
  'id',
  'state',
  'key',
  'takenAt',
  'date',
  'takenBy',
  'settledAt',
  'by',
  'reason',
  'ref',
  'content',
  'hash',
] as const

/** RFC 4180. */
const csvOf = (cells: readonly unknown[]): string =>
  `${cells.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`).join(',')}\r\n`

/** A table program takes a text that begins so for a formula, and runs it. */
const harmless = (cell: unknown): string =>
  typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell ?? '')

const textOf = (...of: (string | number)[]) => JSON.stringify(of)

function seriesOf(
  { series, numbers, ranges, ended }: SeriesReport,
  i: number,
  all: SeriesReport[],
) {
  const [first, last] = [numbers[0], numbers.at(-1)]
  return {
    series,
    first: first?.id,
    firstAt: first?.takenAt,
    last: last?.id,
    lastAt: last?.takenAt,
    ...(ranges && { ranges }),
    ...(ended && { ended, successor: all[i + 1]?.series ?? null }),
    predecessor: all[i - 1]?.series ?? null,
  }
}

interface Row extends Partial<Link> {
  record: string
}

function rowOf(series: string, number: ReportedNumber, link: Link | undefined): Row {
  return { record: 'number', ...link, series, ...number }
}

/** The numbers in their order, and each record without one before the next of its chain. */
function inOrder(numbers: readonly Row[], records: readonly Row[]): Row[] {
  const lines: Row[] = []
  // Of each chain those that are left, the first one last.
  const left = new Map<string | undefined, Row[]>()
  for (const record of [...records].reverse())
    left
      .set(record.chain, left.get(record.chain) ?? [])
      .get(record.chain)!
      .push(record)
  for (const number of numbers) {
    const of = left.get(number.chain) ?? []
    while (of.length > 0 && of.at(-1)!.at! < number.at!) lines.push(of.pop()!)
    lines.push(number)
  }
  return [...lines, ...[...left.values()].flat().reverse()]
}

function totalsOf(reports: readonly SeriesReport[]) {
  const all = reports.flatMap(({ numbers }) => numbers)
  const inState = (state: NumberState) => all.filter((number) => number.state === state).length
  const states = ['confirmed', 'cancelled', 'open', 'voided', 'refused'] as const
  return {
    ...Object.fromEntries(states.map((state) => [state, inState(state)])),
    doubtful: all.filter(({ isDoubtful }) => isDoubtful).length,
    unused: reports.flatMap(({ ranges = [] }) => ranges).reduce((sum, { left }) => sum + left, 0),
    holes: reports.reduce((sum, { numbers }) => sum + holesIn(numbers), 0),
  }
}

/** Of which the server has not heard yet, and since when. */
function heardIn({ current }: SeriesState, numbers: readonly NumberRow[]) {
  const { letter, heard = 0 } = current ?? {}
  const known = numbers.filter((row) => row.letter === letter && row.place <= heard)
  return { heard, heardUntil: known.at(-1)?.takenAt ?? null }
}

interface Outage {
  first: string
  last: string
  firstAt: string
  lastAt: string
}

/** Numbers in a row that were handed out without the server: offline, or its answer was late. */
function outagesIn({ numbers }: SeriesReport): Outage[] {
  const outages: Outage[] = []
  for (const [i, { id, takenAt, heard }] of numbers.entries()) {
    const last = { last: id, lastAt: takenAt }
    if (heard !== false) continue
    if (numbers[i - 1]?.heard === false) Object.assign(outages.at(-1)!, last)
    else outages.push({ first: id, firstAt: takenAt, ...last })
  }
  return outages
}

/** Numbers that are missing between the first and the last of a period. */
const holesIn = (numbers: readonly ReportedNumber[]): number =>
  marksOf(numbers).reduce((sum, { first, last }) => sum + last - first + 1, 0) - numbers.length
