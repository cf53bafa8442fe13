/**
 * The mark of a claim that a RavenDB is asked for. Its answer names no claim, but it repeats the
 * tag as it was asked for, and tags that differ in capitals are one tag to it. So the capitals are
 * drawn for each claim: an answer with other capitals belongs to another claim, and came out of a
 * cache that ignores the query of addresses (H37). Where the tag has few letters, the size of the
 * range is drawn, too. This detects; it proves nothing: an answer to another claim has the same
 * mark once in 2^letters.
 */
import { MIN_CAPACITY } from '../core/wire.js'

/** With this many letters, the capitals of two claims are the same once in 64. */
const ENOUGH_LETTERS = 6
/** So many numbers more, at most, are asked for where the tag has fewer letters. */
const EXTRA = 7

export interface Mark {
  tag: string
  /** Exactly this many numbers are granted: a RavenDB grants no fewer than 32. */
  count: number
}

/** @param seed text that no other claim has */
export function mark(tag: string, count: number, seed: string): Mark {
  const hash = hashOf(seed)
  let letters = 0
  const marked = tag.replace(/[a-z]/gi, (letter) => {
    // A bit for each letter; a long tag begins with the first one again.
    const isCapital = (hash >>> (letters++ % 29)) & 1
    return isCapital ? letter.toUpperCase() : letter.toLowerCase()
  })
  const extra = letters < ENOUGH_LETTERS ? (hash >>> 29) & EXTRA : 0
  return { tag: marked, count: Math.max(MIN_CAPACITY, count) + extra }
}

/** FNV-1a, with the high bits mixed into the low ones. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const char of text) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return (hash ^ (hash >>> 16)) >>> 0
}
