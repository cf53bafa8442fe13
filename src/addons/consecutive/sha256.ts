/**
 * SHA-256 that answers at once: a transaction of IndexedDB does not wait for WebCrypto, which a
 * page without HTTPS does not have either.
 */

const WORD = 2 ** 32
const ROUNDS = 64
/** Bytes. */
export const BLOCK = 64

/** The first bits behind the point of roots of the first primes. */
const fractions = (count: number, root: number): number[] => {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime)) primes.push(n)
  return primes.map((prime) => (prime ** (1 / root) * WORD) | 0)
}

const FIRST = fractions(8, 2)
const CONSTANTS = fractions(ROUNDS, 3)

const turn = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

const ASCII = /^[\0-\x7f]*$/
const byteOf = (hex: string): string => String.fromCharCode(Number.parseInt(hex.slice(-2), 16))

/** @returns 64 hexadecimal digits, of the text's UTF-8 */
export function sha256(text: string): string {
  const hash = newHash()
  const bytes = bytesOf(text)
  mix(hash, bytes + endOf(bytes.length))
  return hexOf(hash)
}

/** Its UTF-8, a character for each byte. Not every place where apps run has a TextEncoder. */
export const bytesOf = (text: string): string =>
  ASCII.test(text) ? text : encodeURIComponent(text).replace(/%../g, byteOf)

export const newHash = (): Int32Array => Int32Array.from(FIRST)

/** What follows after so many bytes. */
export const endOf = (length: number): string =>
  '\x80'.padEnd(BLOCK - ((length + 8) % BLOCK), '\0') +
  (length * 8).toString(16).padStart(16, '0').replace(/../g, byteOf)

export const hexOf = (hash: Int32Array): string =>
  Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')

/** @param bytes whole blocks */
export function mix(hash: Int32Array, bytes: string): void {
  const words = new Int32Array(ROUNDS)
  const byte = (at: number): number => bytes.charCodeAt(at)
  const wordAt = (at: number): number =>
    (byte(at) << 24) | (byte(at + 1) << 16) | (byte(at + 2) << 8) | byte(at + 3)
  for (let at = 0; at < bytes.length; at += BLOCK) {
    let [a, b, c, d, e, f, g, h] = hash as unknown as number[] as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ]
    for (let i = 0; i < ROUNDS; i++) {
      const [x, y] = [words[i - 15]!, words[i - 2]!]
      words[i] =
        i < 16
          ? wordAt(at + i * 4)
          : words[i - 16]! +
            words[i - 7]! +
            (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) +
            (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10))
      const first =
        h +
        (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
        ((e & f) ^ (~e & g)) +
        CONSTANTS[i]! +
        words[i]!
      const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
      h = g
      g = f
      f = e
      e = (d + first) | 0
      d = c
      c = b
      b = a
      a = (first + second) | 0
    }
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i]! += word
  }
}

/**
 * A value as JSON, its keys in the order of the alphabet: `jq -cS` writes the same of usual texts
 * and numbers. (An object of JavaScript has keys such as `19` before all others, whatever order
 * they were written in.)
 */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each ?? null)).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, each]) => each !== undefined)
  const written = fields
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`)
  return `{${written.join()}}`
}
