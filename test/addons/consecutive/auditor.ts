/**
 * An auditor's program: it reads an export as text, and uses nothing of this package. It names all
 * that does not fit: inside of the export, and with links that somebody else kept.
 */
import { createHash } from 'node:crypto'

/** A link that the server or a person kept. */
export interface KeptLink {
  /** A series, or `register`. */
  chain: string
  at: number
  hash: string
}

type Line = Record<string, unknown> & { record: string }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** JSON with the keys in the order of the alphabet. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sorted((value as Line)[key])}`).join()}}`
}

/** @returns nothing where all fits */
export function audit(text: string, kept: readonly KeptLink[] = []): string[] {
  const whole = text.trimEnd().split('\n')
  const lines = whole.map((line): Line => JSON.parse(line))
  const end = lines.at(-1)!
  const before = text.slice(0, text.length - whole.at(-1)!.length - 1)
  const sum = end.record === 'end' && end.sha256 === sha256(before) ? [] : ['the sum is another']
  const entries = lines.filter(({ record }) => record === 'entry')
  const numbers = lines.filter(({ record }) => record === 'number')
  const chained = lines.filter(({ record, chain }) => record !== 'entry' && chain !== undefined)
  return [
    ...sum,
    ...brokenEntries(entries),
    ...otherStates(numbers, entries),
    ...holes(numbers),
    ...brokenChains(chained),
    ...kept.flatMap(({ chain, at, hash }) => {
      const of = chain === 'register' ? entries : chained.filter((each) => each.chain === chain)
      const found = of.find((each) => (each.place ?? each.at) === at)
      return found?.hash === hash ? [] : [`${chain} ${at} is not what was kept`]
    }),
  ]
}

function brokenEntries(entries: readonly Line[]): string[] {
  let previous = ''
  return entries.flatMap(({ record, hash, ...entry }, i) => {
    const fits =
      entry.place === i + 1 && entry.previous === previous && sha256(sorted(entry)) === hash
    previous = hash as string
    return fits ? [] : [`entry ${i + 1} does not fit`]
  })
}

/** What the register tells of each number: what it is, and the state that it got last. */
function otherStates(numbers: readonly Line[], entries: readonly Line[]): string[] {
  const told = new Map<unknown, Line>()
  for (const entry of entries) {
    const { what, id, number, key, state, reason, by, content } = entry
    if (what === 'taken')
      told.set(id, { record: 'number', id, number, key, state: 'open', content })
    if (what === 'settled') told.set(id, { ...told.get(id)!, state, reason, by, key })
  }
  const others = numbers.filter((line) => {
    const entry = told.get(line.id)
    return !entry || Object.entries(entry).some(([field, is]) => !isSame(line[field], is, field))
  })
  const missing = [...told.keys()].filter((id) => !numbers.some((line) => line.id === id))
  return [
    ...others.map(({ id }) => `${id} is not as the register tells`),
    ...missing.map((id) => `${id} is missing`),
  ]
}

/** In a chain a number has its content itself, and the register the hash of that. */
const isSame = (a: unknown, b: unknown, field: string): boolean =>
  a === b || (field === 'content' && sha256(sorted(a)) === b)

function holes(numbers: readonly Line[]): string[] {
  const last = new Map<string, number>()
  const ids = new Set<unknown>()
  return numbers.flatMap(({ id, series, period, number }) => {
    const of = `${series} ${period}`
    const [was, is] = [last.get(of), number as number]
    last.set(of, is)
    const isTwice = ids.size === ids.add(id).size
    return [
      ...(isTwice ? [`${id} is there twice`] : []),
      ...(was === undefined || is === was + 1 ? [] : [`${id} does not follow ${was}`]),
    ]
  })
}

function brokenChains(chained: readonly Line[]): string[] {
  const before = new Map<unknown, Line>()
  return chained.flatMap((line) => {
    const { chain, at, previous, text, hash } = line
    const last = before.get(chain)
    before.set(chain, line)
    const follows = !last || (at === (last.at as number) + 1 && previous === last.hash)
    return follows && sha256(text as string) === String(hash).toLowerCase()
      ? []
      : [`record ${at} of ${chain} does not fit`]
  })
}
