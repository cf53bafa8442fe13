/**
 * All series and chains of a device as JSON Lines, to be read without this package: a head, a line
 * for each number and record in the order of making, and the totals with the result of the check.
 */
import type { Link, NumberRow } from '../core/series-store.js'
import { VERSION } from '../core/version.js'
import type { Verified } from './chain-verify.js'
import type { StoredSeries } from './numbers.js'
import { type ReportedNumber, reportOf, type SeriesReport } from './report.js'
import type { SeriesState } from './state.js'

export async function exported(
  stored: StoredSeries,
  head: object,
  { broken, chains, flagged = [] }: Verified,
): Promise<string> {
  const { state, numbers, links } = stored
  const reports = reportOf(stored)
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
  const ofNumbers = new Set(linkOf.values())
  const records = links
    .filter((link) => !ofNumbers.has(link))
    .map((link) => ({ record: 'record', ...link }))
  const lines = [
    {
      record: 'head',
      ...head,
      software: `offline-hilo ${VERSION}`,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      exportedAt: new Date().toISOString(),
      series: reports.map(seriesOf),
      count: rows.length + records.length,
    },
    ...inOrder(rows, records),
  ]
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const end = {
    record: 'end',
    totals: { ...totalsOf(reports), ...heardIn(state, numbers) },
    outages: reports.flatMap(outagesIn),
    check: { broken, chains, flagged },
    sha256: await sha256(body),
  }
  return `${body}${JSON.stringify(end)}\n`
}

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
  const left = [...records]
  const lines: Row[] = []
  for (const number of numbers) {
    while (left[0]?.chain === number.chain && left[0] && left[0].at! < (number.at ?? 0))
      lines.push(left.shift()!)
    lines.push(number)
  }
  return [...lines, ...left]
}

function totalsOf(reports: readonly SeriesReport[]) {
  const all = reports.flatMap(({ numbers }) => numbers)
  const inState = (state: string) => all.filter((number) => number.state === state).length
  return {
    confirmed: inState('confirmed'),
    cancelled: inState('cancelled'),
    open: inState('open'),
    voided: inState('voided'),
    refused: inState('refused'),
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
function holesIn(numbers: readonly ReportedNumber[]): number {
  const periods = new Map<string | undefined, number[]>()
  for (const { period, number } of numbers)
    periods.set(period, [...(periods.get(period) ?? []), number])
  return [...periods.values()].reduce(
    (sum, made) => sum + Math.max(...made) - Math.min(...made) + 1 - made.length,
    0,
  )
}

async function sha256(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
