/**
 * When two states are one: they differ only in names that were made up (`~0`, `~1` …), or in the
 * order of pages, of devices or of messages. Such states get the same two numbers. Every immutable
 * part of a state is read once; states share most of their parts.
 */

/** A part's hash, and the made-up names in it, in the order in which they appear. */
export interface Part {
  high: number
  low: number
  names: readonly number[]
}

const parts = new WeakMap<object, Part>()
const NO_NAMES: readonly number[] = []
const EMPTY: Part = { high: 0, low: 0, names: NO_NAMES }

/** @param except a field of this name means nothing here */
export function partOf(value: object, except?: string): Part {
  if (Array.isArray(value) && value.length === 0) return EMPTY
  const known = parts.get(value)
  if (known) return known
  const print = new Fingerprint()
  print.addObject(value, except)
  const part = { high: print.high, low: print.low, names: print.names }
  parts.set(value, part)
  return part
}

/** Are these the same, also in their names? */
export function isSamePart(a: Part, b: Part): boolean {
  return compareParts(a, b) === 0 && a.names.every((name, i) => name === b.names[i])
}

/** By what they are but for their names. */
export const compareParts = (a: Part, b: Part): number => a.high - b.high || a.low - b.low

export const inOrder = (some: readonly Part[]): readonly Part[] =>
  some.length < 2 ? some : [...some].sort(compareParts)

/** A text as a number, and the made-up names in it. */
interface Text {
  id: number
  names: readonly number[]
}

const texts = new Map<string, Text>()
const shapes = new Map<string, number>()
/** No number in a state is one of these. */
const [FIRST_TEXT, ARRAY, OBJECT, NULL, FALSE, TRUE] = [1 << 30, -2, -3, -4, -5, -6]

function textOf(text: string): Text {
  const known = texts.get(text)
  if (known) return known
  const names = [...text.matchAll(/~(\d+)/g)].map(([, digits]) => Number(digits))
  const shape = text.replace(/~\d+/g, '~')
  const id = shapes.get(shape) ?? FIRST_TEXT + shapes.size
  shapes.set(shape, id)
  const read = { id, names: names.length > 0 ? names : NO_NAMES }
  texts.set(text, read)
  return read
}

/** Twice MurmurHash3's mixing; the second number is never 0. */
export class Fingerprint {
  #a = 0x9e3779b9 | 0
  #b = 0x85ebca6b | 0
  /** Names get new numbers, in the order in which they appear. */
  #names = NO_NAMES as number[]

  add(value: number): void {
    let a = Math.imul(this.#a ^ value, 0xcc9e2d51)
    a = (a << 15) | (a >>> 17)
    this.#a = (Math.imul(a, 5) + 0xe6546b64) | 0
    let b = Math.imul(this.#b ^ Math.imul(value, 0x2545f491), 0x1b873593)
    b = (b << 13) | (b >>> 19)
    this.#b = (Math.imul(b, 5) + 0x561ccd1b) | 0
  }

  addPart({ high, low, names }: Part): void {
    this.add(high)
    this.add(low)
    for (const name of names) this.#addName(name)
  }

  /** How many come, then each: lists that follow one another cannot be taken for each other. */
  addParts(some: readonly Part[]): void {
    this.add(some.length)
    for (const part of some) this.addPart(part)
  }

  addObject(value: object, except?: string): void {
    if (Array.isArray(value)) {
      this.add(ARRAY)
      this.add(value.length)
      for (const each of value) this.#addValue(each)
      return
    }
    this.add(OBJECT)
    for (const name in value) {
      const field = value[name as keyof object]
      if (field === undefined || name === except) continue
      this.add(textOf(name).id)
      this.#addValue(field)
    }
  }

  get high(): number {
    return mixed(this.#a)
  }

  get low(): number {
    return (mixed(this.#b) | 1) >>> 0
  }

  get names(): readonly number[] {
    return this.#names
  }

  #addValue(value: string | number | boolean | object | null): void {
    if (typeof value === 'number') this.add(value)
    else if (typeof value === 'string') {
      const { id, names } = textOf(value)
      this.add(id)
      for (const name of names) this.#addName(name)
    } else if (typeof value === 'boolean') this.add(value ? TRUE : FALSE)
    else if (value === null) this.add(NULL)
    else this.addObject(value)
  }

  #addName(name: number): void {
    const at = this.#names.indexOf(name)
    if (at >= 0) {
      this.add(at)
      return
    }
    if (this.#names === NO_NAMES) this.#names = []
    this.add(this.#names.push(name) - 1)
  }
}

function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
