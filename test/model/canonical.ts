/**
 * When two states are one: they differ only in names that were made up (`~0`, `~1` …), or in the
 * order of pages, of devices or of messages. Such states get the same two numbers. Every immutable
 * part of a state is turned into text once; states share most of their parts.
 */

/** A part's text, as a number, and the made-up names in it, in the order in which they appear. */
export interface Part {
  id: number
  names: readonly number[]
}

const parts = new WeakMap<object, Part>()
const idsByText = new Map([['[]', 0]])
const EMPTY: Part = { id: 0, names: [] }

export function partOf(value: object, textOf: (value: object) => string = JSON.stringify): Part {
  if (Array.isArray(value) && value.length === 0) return EMPTY
  const known = parts.get(value)
  if (known) return known
  const names: number[] = []
  const written = textOf(value)
  const text = written.includes('~')
    ? written.replace(/~(\d+)/g, (_, digits: string) => {
        const name = Number(digits)
        const at = names.indexOf(name)
        return `~${at >= 0 ? at : names.push(name) - 1}`
      })
    : written
  let id = idsByText.get(text)
  if (id === undefined) {
    id = idsByText.size
    idsByText.set(text, id)
  }
  const part = { id, names }
  parts.set(value, part)
  return part
}

/** Are these the same, also in their names? */
export function isSamePart(a: Part, b: Part): boolean {
  return a.id === b.id && a.names.every((name, i) => name === b.names[i])
}

export const inOrder = (some: readonly Part[]): readonly Part[] =>
  some.length < 2 ? some : [...some].sort((a, b) => a.id - b.id)

/** Twice MurmurHash3's mixing; the second number is never 0. */
export class Fingerprint {
  #a = 0x9e3779b9
  #b = 0x85ebca6b
  /** Names get new numbers, in the order in which they appear. */
  readonly #names: number[] = []

  add(value: number): void {
    let a = Math.imul(this.#a ^ value, 0xcc9e2d51)
    a = (a << 15) | (a >>> 17)
    this.#a = (Math.imul(a, 5) + 0xe6546b64) | 0
    let b = Math.imul(this.#b ^ Math.imul(value, 0x2545f491), 0x1b873593)
    b = (b << 13) | (b >>> 19)
    this.#b = (Math.imul(b, 5) + 0x561ccd1b) | 0
  }

  addPart({ id, names }: Part): void {
    this.add(id)
    for (const name of names) {
      const at = this.#names.indexOf(name)
      this.add(at >= 0 ? at : this.#names.push(name) - 1)
    }
  }

  /** How many come, then each: lists that follow one another cannot be taken for each other. */
  addParts(some: readonly Part[]): void {
    this.add(some.length)
    for (const part of some) this.addPart(part)
  }

  get high(): number {
    return mixed(this.#a)
  }

  get low(): number {
    return (mixed(this.#b) | 1) >>> 0
  }
}

function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
