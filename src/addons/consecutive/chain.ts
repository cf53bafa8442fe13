/**
 * `offline-hilo/consecutive/chain`: records that each hold the hash of the one before. Guarantees
 * that the hashed text is stored beside the hash, and that a chain or a clock that does not fit
 * stops nobody, unless the app wants that.
 */
import { reasonOf } from '../../core/brief.js'
import { HiloError } from '../../core/errors.js'
import type { ChainFlag, ChainRecord, Link } from '../../device/series-store.js'
import { addRecord, type Draft, type LinkMaker, numberWith, placeOf, type Rule } from './links.js'
import { localDate, pad } from './moment.js'
import { sha256 } from './sha256.js'

export type { ChainFlag, ChainRecord } from '../../device/series-store.js'
export type { BrokenRecord, Known, Verified, VerifiedChain } from './chain-verify.js'

export interface ChainOptions<Content = unknown> {
  /**
   * The text to hash: of the record and of the hash of the record before. A record has `at`,
   * `kind`, `time`, `content`, with `over: 'device'` also `collection`, and with a number `series`,
   * `id`, `number`, `period`, and `data` of its range. The text is stored. The same record has to
   * get the same text again when the chain is checked.
   */
  text(record: ChainRecord<Content>, previous: string): string
  /** `SHA-256`, `SHA-384` or a function of the text. Default: `SHA-256`. */
  digest?: 'SHA-256' | 'SHA-384' | ((text: string) => Uint8Array | Promise<Uint8Array>)
  /**
   * How a hash is written: `hex`, `HEX`, `base64`, `base64url` or a function of the bytes. Default:
   * `hex`.
   */
  encoding?: 'hex' | 'HEX' | 'base64' | 'base64url' | ((bytes: Uint8Array) => string)
  /**
   * The first record holds this in place of a hash: a text, or a function of `{ series }`. Default:
   * the empty text.
   */
  initial?: string | ((of: { series?: string | undefined }) => string | Promise<string>)
  /**
   * `series`: each series of this device has a chain. `device`: one chain goes over all series that
   * this device has or had, in all collections of the database that have this option. Give them the
   * same chain: a check makes the texts of all. Default: `series`.
   */
  over?: 'series' | 'device'
  /**
   * The reaction when the record before was changed or has gone, or is younger than the clock of
   * this device. `flag`: the record is made, and says so. `refuse`: none is made. Default: `flag`.
   */
  broken?: 'flag' | 'refuse'
  /** The rule's name in an export, with its version. */
  name?: string
}

/** Made by {@link chain}, for the option `chain` of `consecutive`. */
export interface Chain extends LinkMaker {
  /** For `consecutive` alone. */
  rule: Rule
}

/**
 * The rule of a chain.
 *
 * @example
 * const receipts = consecutive(hilo, 'receipts', {
 *   chain: chain({ text: ({ id, content }, previous) => `${id};${content.total};${previous}` }),
 * })
 * const { hash } = await receipts.next({ key: saleId, content: { total: '12.35' } })
 *
 * @throws HiloError `invalid-argument`
 */
export function chain<Content = unknown>(options: ChainOptions<Content>): Chain {
  const { over = 'series', broken = 'flag' } = check(options as ChainOptions)
  const rule = ruleOf(options as ChainOptions)
  return {
    chainOf: (series) => (over === 'device' ? '' : series),
    async linkOf(draft) {
      const unhashed = await unhashedOf(draft, rule)
      // Each hash is made on another thread: at the same time, they take the time of one.
      const [hash, hashBefore] = await Promise.all([
        rule.hashOf(unhashed.text),
        draft.before && !draft.isSeen && rule.hashOf(draft.before.text),
      ])
      const flags = flagsOf(draft, hashBefore)
      if (flags.length > 0 && broken === 'refuse') throw refused(draft, flags)
      return { ...unhashed, hash, ...(flags.length > 0 && { flags }) }
    },
    numberWith,
    addRecord,
    rule,
  }
}

/** @param hashBefore of the text of the record before, where that was read from the storage */
function flagsOf(
  { before, expected, date }: Draft,
  hashBefore: string | false | undefined,
): ChainFlag[] {
  const flags: ChainFlag[] = []
  const isThere = !expected || (before !== undefined && expected.at <= before.at)
  const isSame = !before || expected?.at !== before.at || expected.hash === before.hash
  const isWhole = !hashBefore || hashBefore === before?.hash
  if (!isThere || !isSame || !isWhole) flags.push('broken')
  // Whole seconds, as the time is written.
  const seconds = Math.floor(date.getTime() / 1000) * 1000
  if (before && seconds < Date.parse(before.time)) flags.push('clock')
  return flags
}

async function unhashedOf(draft: Draft, rule: Rule): Promise<Link> {
  const { chain, record, key, before } = draft
  const unhashed: Link = {
    chain,
    ...record,
    at: placeOf(draft),
    time: timeText(draft.date, draft.timeZone),
    ...(key !== undefined && { key }),
    rule: rule.id,
    text: '',
    previous: before ? before.hash : await rule.initialOf(record.series),
    hash: '',
  }
  return { ...unhashed, text: rule.textOf(unhashed) }
}

function ruleOf(options: ChainOptions): Rule {
  const { text: make, digest = 'SHA-256', encoding = 'hex', initial = '', name } = options
  const nameOf = (part: unknown) => (typeof part === 'function' ? 'function' : part)
  const { over = 'series' } = options
  return {
    // A function is known by its source: a new build may write the same one in another way.
    id: sha256([make, digest, encoding, initial, over, name].join('\n')).slice(0, 16),
    head: {
      ...(name !== undefined && { name }),
      over,
      digest: nameOf(digest),
      encoding: nameOf(encoding),
      initial: nameOf(initial),
    },
    textOf({ chain: _, text, previous, hash, key, flags, rule, ...record }) {
      try {
        return checkText('text', make(record, previous))
      } catch (cause) {
        throw failed('text', cause)
      }
    },
    async hashOf(text) {
      const made = await run<unknown>('digest', () =>
        typeof digest === 'function'
          ? digest(text)
          : crypto.subtle.digest(digest, new TextEncoder().encode(text)),
      )
      const bytes = bytesOf(made)
      if (bytes.length === 0) throw mistake(`digest has to make bytes; this is ${typeof made}`)
      const written = typeof encoding === 'function' ? encoding : ENCODINGS[encoding]
      return checkText('encoding', await run('encoding', () => written(bytes)))
    },
    initialOf: async (series) =>
      checkText(
        'initial',
        typeof initial === 'string' ? initial : await run('initial', () => initial({ series })),
      ),
  }
}

/** None, if it is something else than bytes. A buffer may be of another realm. */
function bytesOf(made: unknown): Uint8Array {
  const isBuffer = Object.prototype.toString.call(made) === '[object ArrayBuffer]'
  return new Uint8Array(isBuffer || ArrayBuffer.isView(made) ? (made as Uint8Array) : [])
}

const hex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

const ENCODINGS = {
  hex,
  HEX: (bytes: Uint8Array) => hex(bytes).toUpperCase(),
  base64,
  base64url: (bytes: Uint8Array) =>
    base64(bytes).replace(/[+/=]/g, (each) => ({ '+': '-', '/': '_' })[each] ?? ''),
}

/** In the time zone, with its offset: `2027-01-01T09:00:00+01:00`. */
function timeText(date: Date, timeZone: string | undefined): string {
  const { year, month, day, hour, minute, second } = localDate(date, timeZone)
  const local = Date.UTC(year, month - 1, day, hour, minute, second)
  const minutes = Math.round((local - Math.floor(date.getTime() / 1000) * 1000) / 60_000)
  const of = Math.abs(minutes)
  const offset = `${pad(Math.floor(of / 60))}:${pad(of % 60)}`
  return `${new Date(local).toISOString().slice(0, 19)}${minutes < 0 ? '-' : '+'}${offset}`
}

function check(options: ChainOptions): ChainOptions {
  const { text, digest = 'SHA-256', encoding = 'hex', initial = '', ...others } = Object(options)
  const { over = 'series', broken = 'flag', name = '', ...unknown } = others
  const isNamed = (value: unknown, ...names: string[]) => names.includes(value as string)
  const isFunction = (value: unknown) => typeof value === 'function'
  const rules: [string, boolean][] = [
    ['text is a function', isFunction(text)],
    [
      "digest is 'SHA-256', 'SHA-384' or a function",
      isFunction(digest) || isNamed(digest, 'SHA-256', 'SHA-384'),
    ],
    [
      "encoding is 'hex', 'HEX', 'base64', 'base64url' or a function",
      isFunction(encoding) || isNamed(encoding, ...Object.keys(ENCODINGS)),
    ],
    ['initial is a text or a function', isFunction(initial) || typeof initial === 'string'],
    ["over is 'series' or 'device'", isNamed(over, 'series', 'device')],
    ["broken is 'flag' or 'refuse'", isNamed(broken, 'flag', 'refuse')],
    ['name is a text', typeof name === 'string'],
    [`there is no option ${Object.keys(unknown)[0]}`, Object.keys(unknown).length === 0],
    [
      'this page has no crypto.subtle, as it was not loaded over HTTPS. Give a digest function',
      isFunction(digest) || globalThis.crypto?.subtle !== undefined,
    ],
  ]
  const wrong = rules.find(([, holds]) => !holds)
  if (wrong) throw new HiloError('invalid-argument', `No chain was made: ${wrong[0]}.`)
  return options
}

async function run<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw failed(what, cause)
  }
}

function checkText(what: string, made: unknown): string {
  if (typeof made === 'string') return made
  throw mistake(`${what} has to make a text; this is ${typeof made}`)
}

const mistake = (why: string, cause?: unknown): HiloError =>
  new HiloError('invalid-argument', `No record was made: the chain's ${why}.`, { cause })

const failed = (what: string, cause: unknown): HiloError =>
  cause instanceof HiloError ? cause : mistake(`${what} failed: ${reasonOf(cause)}`, cause)

function refused({ before, expected }: Draft, flags: ChainFlag[]): HiloError {
  const what = `record ${before?.at ?? expected?.at} of the chain`
  return new HiloError(
    'storage-failed',
    flags.includes('broken')
      ? `No record was made: ${what} was changed after it was made, or has gone. verify() names ` +
          "the first record that does not fit. With `broken: 'flag'` the chain goes on."
      : `No record was made: ${what} is younger than the clock of this device says. Set the ` +
          'clock, and ask again.',
  )
}
