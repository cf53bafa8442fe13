/**
 * `offline-hilo/textbook`: HiLo as in textbooks, for one process and without storage: the id is
 * `hi × maxLo + lo`. Guarantees that one hi is taken at a time, however many callers wait, and that
 * each of its ids goes to one of them.
 */

export interface HiLoGeneratorOptions {
  /** Takes the next hi. Nobody may ever get the same hi twice. */
  nextHi: () => Promise<number> | number
  /** How many ids one hi stands for: the same for all users of this counter. */
  maxLo: number
}

/**
 * @returns a function that resolves with the next id. When `nextHi` throws, the function rejects
 * with the same error, no id is used up, and the next call tries again. It rejects with a
 * RangeError when a hi is no whole number ≥ 0, is not above the last one, or has ids above 2^53−1.
 * @throws TypeError when `nextHi` is no function; RangeError when `maxLo` is no whole number ≥ 1
 *
 * @example
 * const nextId = hiLoGenerator({ nextHi: async () => 2, maxLo: 1000 })
 * await nextId() // 2000, then 2001, 2002
 */
export function hiLoGenerator(options: HiLoGeneratorOptions): () => Promise<number> {
  const { nextHi, maxLo } = Object(options) as HiLoGeneratorOptions
  if (typeof nextHi !== 'function')
    throw new TypeError(`nextHi has to be a function; this is ${shown(nextHi)}.`)
  if (!Number.isSafeInteger(maxLo) || maxLo < 1)
    throw new RangeError(`maxLo has to be a whole number ≥ 1; this is ${shown(maxLo)}.`)
  let hi = -1
  let lo = maxLo
  let flight: Promise<void> | undefined

  async function take(): Promise<void> {
    const next = await nextHi()
    if (!Number.isSafeInteger(next) || next < 0)
      throw new RangeError(
        `nextHi gave ${shown(next)}, which is no whole number ≥ 0. No id was made of it.`,
      )
    if (next <= hi)
      throw new RangeError(
        `nextHi gave ${next} after ${hi}: it went backwards, and its ids would be made ` +
          'again. No id was made of it.',
      )
    if (!Number.isSafeInteger((next + 1) * maxLo))
      throw new RangeError(`The ids of hi ${next} pass 2^53−1. No id was made of it.`)
    hi = next
    lo = 0
  }

  return async () => {
    while (lo === maxLo) {
      flight ??= take().finally(() => {
        flight = undefined
      })
      await flight
    }
    return hi * maxLo + lo++
  }
}

/** A text or a bigint looks like the number that it is not. */
const shown = (value: unknown): string =>
  ['string', 'bigint'].includes(typeof value) ? `the ${typeof value} ${value}` : String(value)
