/**
 * SHA-256 that answers at once: a transaction of IndexedDB does not wait for WebCrypto, which a
 * page without HTTPS does not have either.
 */

const WORD = 2 ** 32
const ROUNDS = 64

/** The first bits behind the point of roots of the first primes. */
const fractions = (count: number, root: number): number[] => {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime)) primes.push(n)
  return primes.map((prime) => (prime ** (1 / root) * WORD) | 0)
}

const FIRST = fractions(8, 2)
const CONSTANTS = fractions(ROUNDS, 3)

const turn = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** @returns 64 hexadecimal digits, of the text's UTF-8 */
export function sha256(text: string): string {
  // Not every place where tests of apps run has a TextEncoder.
  const bytes = encodeURIComponent(text).replace(/%(..)/g, (_, hex) =>
    String.fromCharCode(Number(`0x${hex}`)),
  )
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6)
  for (let i = 0; i < bytes.length; i++) padded[i] = bytes.charCodeAt(i)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, bytes.length / (WORD / 8))
  view.setUint32(padded.length - 4, bytes.length * 8)
  const hash = Int32Array.from(FIRST)
  const words = new Int32Array(ROUNDS)
  for (let at = 0; at < padded.length; at += ROUNDS) {
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
          ? view.getInt32(at + i * 4)
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
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/**
 * A value as JSON, its keys in the order of the alphabet: `jq -cS` writes the same. (An object of
 * JavaScript has keys such as `19` before all others, whatever order they were written in.)
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
