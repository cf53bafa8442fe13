/** Finds the first record of each chain that does not fit. */
import type { ChainFlag, Link, LinkMark, NumberRow } from '../core/series-store.js'
import type { Rule } from './links.js'
import type { StoredSeries } from './numbers.js'

export interface VerifiedChain {
  /** The series, or empty: the chain is the device's. */
  chain: string
  count: number
  /** Keep it elsewhere, and give it to `verify({ known })`: only that shows a missing end. */
  last?: Known
}

/**
 * The first record that does not fit, and why:
 *
 * - `missing`: it has gone, or its number has, or was made without the chain.
 * - `hash`: the stored text has another hash.
 * - `previous`: it does not hold the hash of the record before.
 * - `text`: what is stored of the record makes another text now.
 * - `known`: a link that was kept elsewhere is another one.
 */
export interface BrokenRecord {
  chain: string
  at: number
  id?: string
  why: 'missing' | 'hash' | 'previous' | 'text' | 'known'
}

export interface Verified {
  chains: VerifiedChain[]
  /** Absent: all records fit. */
  broken?: BrokenRecord
  /** Records that said when they were made that something did not fit. */
  flagged?: { chain: string; at: number; flags: ChainFlag[] }[]
}

/** A link that was kept elsewhere: at the server, on paper, in a mail. */
export type Known = LinkMark

export async function verified(
  stored: StoredSeries,
  known: Known | undefined,
  rule: Rule,
): Promise<Verified> {
  const { numbers, links } = stored
  const named = numbers.flatMap((row, i) => markOf(row, numbers[i - 1]))
  const chains: VerifiedChain[] = []
  const broken: BrokenRecord[] = []
  for (const chain of new Set(
    [...links, ...named, ...(known ? [known] : [])].map((of) => of.chain),
  )) {
    const ofChain = links.filter((link) => link.chain === chain)
    const { at, hash } = ofChain.at(-1) ?? {}
    const last = at !== undefined && hash !== undefined && { last: { chain, at, hash } }
    chains.push({ chain, count: ofChain.length, ...last })
    const marks = [...named, ...(known ? [{ ...known, isKnown: true }] : [])]
    const found = [
      ...(await brokenLink(ofChain, rule)),
      ...marks.filter((mark) => mark.chain === chain).flatMap((mark) => brokenMark(mark, ofChain)),
    ]
    const [first] = found.sort((a, b) => a.at - b.at)
    if (first) broken.push({ chain, ...first })
  }
  const flagged = links.flatMap(({ chain, at, flags }) => (flags ? { chain, at, flags } : []))
  const [first] = broken
  return { chains, ...(first && { broken: first }), ...(flagged.length > 0 && { flagged }) }
}

/**
 * What a number knows of its record. One without a record, after one that has a record, names the
 * one that would be next: no hash is empty.
 */
function markOf({ id, letter, link }: NumberRow, before: NumberRow | undefined) {
  if (link) return [{ ...link, id }]
  return before?.link && before.letter === letter
    ? [{ ...before.link, at: before.link.at + 1, id, hash: '' }]
    : []
}

type Found = Omit<BrokenRecord, 'chain'>

/** @param links of one chain, in their order */
async function brokenLink(links: readonly Link[], rule: Rule): Promise<Found[]> {
  for (const [i, link] of links.entries()) {
    const { at, id, text, previous, hash, series } = link
    const before = links[i - 1]
    const expected = (before?.at ?? 0) + 1
    if (at !== expected) return [{ at: expected, why: 'missing' }]
    const of = { at, ...(id !== undefined && { id }) }
    if ((await rule.hashOf(text)) !== hash) return [{ ...of, why: 'hash' }]
    if (previous !== (before?.hash ?? (await rule.initialOf(series))))
      return [{ ...of, why: 'previous' }]
    if (text !== textAgain(link, rule)) return [{ ...of, why: 'text' }]
  }
  return []
}

/** What a number, or somebody elsewhere, knows of a record. */
function brokenMark(
  { at, hash, id, isKnown }: LinkMark & { id?: string; isKnown?: boolean },
  links: readonly Link[],
): Found[] {
  const link = links.find((each) => each.at === at)
  const of = { at, ...(id !== undefined && { id }) }
  if (!link || hash === '') return [{ ...of, why: 'missing' }]
  if (link.hash === hash && (id === undefined || link.id === id)) return []
  return [{ ...of, why: isKnown ? 'known' : 'hash' }]
}

function textAgain(link: Link, rule: Rule): string | undefined {
  try {
    return rule.textOf(link)
  } catch {
    return undefined
  }
}
