/** Finds each record of the chains, and of the register, that does not fit. */
import type { ChainFlag, Entry, Link, LinkMark, NumberRow } from '../../device/series-store.js'
import { isCount, must } from './checks.js'
import type { Rule } from './links.js'
import type { StoredSeries } from './numbers.js'
import { present } from './present.js'
import { type BrokenRecord, brokenIn, REGISTER } from './register-check.js'

export type { BrokenRecord } from './register-check.js'

export interface VerifiedChain {
  /** The series; empty: the chain is the device's; `register`: it is the register. */
  chain: string
  count: number
  /** Keep it elsewhere, and give it to `verify({ known })`: only that shows a missing end. */
  last?: Known
}

export interface Verified {
  chains: VerifiedChain[]
  /** Empty: all that is stored fits. */
  broken: BrokenRecord[]
  /** Records that said when they were made that something did not fit. */
  flagged?: { chain: string; at: number; flags: ChainFlag[] }[]
}

/** A link that was kept elsewhere: at the server, on paper, in a mail. */
export type Known = LinkMark

/**
 * @param rule of the chains now. Undefined: the app has none
 * @throws HiloError `invalid-argument` when `known` is no link
 */
export async function verified(
  stored: StoredSeries,
  known: Known | undefined,
  rule: Rule | undefined,
): Promise<Verified> {
  if (known !== undefined) checkKnown(known)
  const { numbers, links, entries } = stored
  const named = numbers.flatMap((row, i) => markOf(row, numbers[i - 1]))
  const told = entries.flatMap(({ what, link }) => (what === 'record' && link ? [link] : []))
  const marks = [...named, ...told, ...(known ? [{ ...known, isKnown: true }] : [])]
  const chains: VerifiedChain[] = []
  let broken: BrokenRecord[] = []
  const ofChain = new Map<string, (Link | Known)[]>([[REGISTER, entries.map(markOfEntry)]])
  for (const { chain } of marks) ofChain.set(chain, ofChain.get(chain) ?? [])
  for (const link of links) {
    const of = ofChain.get(link.chain) ?? []
    of.push(link)
    ofChain.set(link.chain, of)
  }
  for (const [chain, records] of ofChain) {
    const { at, hash } = records.at(-1) ?? {}
    const last = at !== undefined && hash !== undefined && { last: { chain, at, hash } }
    chains.push({ chain, count: records.length, ...last })
    const found = [
      ...(rule && chain !== REGISTER ? await brokenLinks(records as Link[], rule) : []),
      ...brokenMarks(
        marks.filter((mark) => mark.chain === chain),
        records,
      ),
    ]
    broken = broken.concat(found.sort((a, b) => a.at - b.at).map((each) => ({ chain, ...each })))
  }
  broken = broken.concat(brokenIn(stored))
  const flagged = links.flatMap(({ chain, at, flags }) => (flags ? { chain, at, flags } : []))
  return { chains, broken, ...(flagged.length > 0 && { flagged }) }
}

function checkKnown(known: Known): void {
  const { chain, at, hash } = Object(known) as Partial<Known>
  must(
    typeof chain === 'string' && isCount(at) && typeof hash === 'string',
    '`known` is one link: { chain, at, hash }. The chain is the series, or an empty text for ' +
      'that of the device',
    known,
  )
}

const markOfEntry = ({ place, hash }: Entry): Known => ({ chain: REGISTER, at: place, hash })

/**
 * A number's own copy of its record's link. One without a record, after one that has a record,
 * names the one that would be next: no hash is empty.
 */
function markOf({ id, letter, link }: NumberRow, before: NumberRow | undefined) {
  if (link) return [{ ...link, id }]
  return before?.link && before.letter === letter
    ? [{ ...before.link, at: before.link.at + 1, id, hash: '' }]
    : []
}

type Found = Omit<BrokenRecord, 'chain'>

/** @param links of one chain, in their order */
async function brokenLinks(links: readonly Link[], rule: Rule): Promise<Found[]> {
  const found: Found[] = []
  for (const [i, link] of links.entries()) {
    const { at, id, text, previous, hash, series } = link
    const before = links[i - 1]
    const expected = (before?.at ?? 0) + 1
    const of = { at, ...present({ id }) }
    if (at !== expected) found.push({ at: expected, why: 'missing' })
    else if (previous !== (before?.hash ?? (await rule.initialOf(series))))
      found.push({ ...of, why: 'previous' })
    if ((await rule.hashOf(text)) !== hash) found.push({ ...of, why: 'hash' })
    // An older rule makes other texts: its records are checked by their hashes.
    else if (link.rule === rule.id && text !== textAgain(link, rule))
      found.push({ ...of, why: 'text' })
  }
  return found
}

/** Links as numbers hold them, or as somebody has kept them elsewhere. */
function brokenMarks(
  marks: readonly (LinkMark & { id?: string; isKnown?: boolean })[],
  links: readonly (LinkMark & { id?: string })[],
): Found[] {
  const stored = new Map(links.map((link) => [link.at, link]))
  return marks.flatMap(({ at, hash, id, isKnown }): Found[] => {
    const link = stored.get(at)
    const of = { at, ...present({ id }) }
    if (!link || hash === '') return [{ ...of, why: 'missing' }]
    if (link.hash === hash && (id === undefined || link.id === id)) return []
    return [{ ...of, why: isKnown ? 'known' : 'hash' }]
  })
}

function textAgain(link: Link, rule: Rule): string | undefined {
  try {
    return rule.textOf(link)
  } catch {
    return undefined
  }
}
