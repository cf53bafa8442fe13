/**
 * Takes ranges from any counter of the app, by the textbook's HiLo. With `maxLo` 100, the hi 7
 * gives this device the numbers 700 to 799. Guarantees that a hi never becomes an id when it is
 * negative, no whole number, or not above the highest one that this device has seen.
 */
import { reasonOf } from '../core/brief.js'
import { checkKeys } from '../core/check-keys.js'
import { HiloError } from '../core/errors.js'
import type { Range } from '../core/range.js'
import type { HiloSource, Target } from '../device/contract.js'
import { granted, within } from './http.js'

export interface NextHiOptions {
  /**
   * Names the counter behind `nextHi`, for instance the tenant whose counter it is. A device keeps
   * the ranges of different keys apart. Change it whenever `nextHi` asks another counter.
   */
  key: string
  /**
   * Takes the next hi of a collection. Nobody may ever get the same hi twice, on any device. When
   * it throws, no number is used up, and it is asked again later.
   */
  nextHi: (collection: string, database: string) => Promise<number> | number
  /**
   * How many ids one hi stands for. All users of this counter have the same `maxLo`, for ever: with
   * another one, ids would be made again.
   */
  maxLo: number
  /**
   * The lowest id to make. Default 0, the textbook's first key where hi begins at 0. With 1, ids
   * begin at 1.
   */
  firstId?: number
}

/**
 * @example
 * createHilo({
 *   source: nextHiSource({
 *     key: tenant,
 *     nextHi: (collection) => api.post(`/tenants/${tenant}/hi/${collection}`),
 *     maxLo: 100,
 *   }),
 * })
 *
 * @throws HiloError `invalid-argument`
 */
export function nextHiSource(options: NextHiOptions): HiloSource {
  const given = checkKeys('options', options, ['key', 'nextHi', 'maxLo', 'firstId'])
  const { key, nextHi, maxLo, firstId = 0 } = given
  if (typeof key !== 'string' || key === '')
    throw invalid(
      '`key` has to name the counter behind `nextHi`, for instance its tenant: a device keeps ' +
        'the ranges of different keys apart',
    )
  if (typeof nextHi !== 'function') throw invalid('`nextHi` has to be a function')
  if (!Number.isSafeInteger(maxLo) || maxLo < 1)
    throw invalid(`\`maxLo\` has to be a whole number ≥ 1; this is ${maxLo}`)
  if (!Number.isSafeInteger(firstId) || firstId < 0)
    throw invalid(`\`firstId\` has to be a whole number ≥ 0; this is ${firstId}`)
  // "The highest number seen is 0" would not tell whether id 0 was made.
  if (maxLo === 1 && firstId === 0) throw invalid('with `maxLo` 1, `firstId` has to be at least 1')

  async function take(collection: string, database: string): Promise<number> {
    try {
      return await nextHi(collection, database)
    } catch (cause) {
      if (cause instanceof HiloError) throw cause
      throw new HiloError(
        'server-unreachable',
        `nextHi('${collection}') failed: ${reasonOf(cause)}. It is asked again later.`,
        { cause },
      )
    }
  }

  /** Skips a hi whose ids are all below `firstId`. */
  async function nextRange(
    { collection, database, separator }: Target,
    lastMax: number,
    signal: AbortSignal,
  ): Promise<Range> {
    for (let last = -1; ; ) {
      const hi = await take(collection, database)
      signal.throwIfAborted()
      if (!Number.isSafeInteger(hi) || hi < 0) throw badHi(collection, hi, 'is no whole number ≥ 0')
      const from = hi * maxLo
      const to = from + maxLo - 1
      if (!Number.isSafeInteger(to))
        throw new HiloError(
          'unsafe-range',
          `nextHi('${collection}') gave ${hi}, whose ids pass 2^53−1: none was made. Continue ` +
            'this collection under a new name.',
        )
      // guard: H20 a hi that was seen before is refused
      if (hi <= last || (lastMax > 0 && from <= lastMax))
        throw badHi(collection, hi, 'went backwards: this device has seen a higher one')
      if (to >= firstId)
        return { from: Math.max(from, firstId), to, prefix: collection + separator, serverTag: '' }
      last = hi
    }
  }

  return {
    // guard: H24 the counter is part of the key
    key: `next-hi ${key}`,
    claim: (target, { lastMax }, timeout) =>
      granted(
        within(timeout, `nextHi('${target.collection}')`, async (signal) => ({
          range: await nextRange(target, lastMax, signal),
        })),
      ),
  }
}

const invalid = (why: string): HiloError =>
  new HiloError('invalid-argument', `nextHiSource did nothing: ${why}.`)

const badHi = (collection: string, hi: unknown, why: string): HiloError =>
  new HiloError(
    'invalid-response',
    `nextHi('${collection}') gave ${shown(hi)}, which ${why}. No id was made of it. Check the ` +
      'counter behind it: nobody may ever get the same hi twice.',
  )

/** A text or a bigint looks like the number that it is not. */
const shown = (hi: unknown): string =>
  ['string', 'bigint'].includes(typeof hi) ? `the ${typeof hi} ${hi}` : String(hi)
