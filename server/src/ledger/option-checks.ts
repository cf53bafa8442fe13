/**
 * How options are checked, and the options that several parts of the server have in common. A
 * message names the option that is wrong and the fix.
 */
import { z } from 'zod'
import { DATABASE_NAME } from '../../../src/core/names.js'
import type { LedgerLimits } from './ledger.js'

/** Settings of which each may be left out or undefined. */
export type Optional<T> = { [K in keyof T]?: T[K] | undefined }

// Options are described in interfaces: tsc writes the type of a schema without its comments.
/** A check for each option. */
export type Checks<Options> = Record<keyof Options, z.ZodType>

/** Values by name. zod leaves `__proto__` out without a word, and reads no inherited name. */
export const byName = <Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  name: Key,
  value: Value,
) =>
  z.preprocess(
    (given, context) => {
      // guard: H24 a binding that cannot be read is not left out
      for (const each in Object(given))
        if (each === '__proto__' || !Object.hasOwn(given as object, each))
          context.addIssue(`has the name ${each} in a way that cannot be used: rename it`)
      return given
    },
    z.record(name, value),
  )

/**
 * The limits of RavenDB, so that a database may move there. A region asks by names in lower case:
 * there `İ` is `i` and a dot.
 */
export const databaseName = z
  .string()
  .refine(
    (name) => DATABASE_NAME.test(name.replaceAll('i\u0307', 'İ')),
    "a database's name has 1 to 128 letters, digits, dots, dashes or underscores",
  )

export const nodeTag = z
  .string()
  .regex(/^[A-Z]{1,4}$/, 'a node tag has 1 to 4 capital letters, as in A')

/** Scheme, host and port. */
export const publicUrl = z
  .string()
  .refine(
    (url) =>
      /^https?:/.test(url) && URL.canParse(url) && new URL(url).origin === url.replace(/\/$/, ''),
    'has to be an http or https URL without a path, as in https://ids.example.com',
  )
  .transform((url) => url.replace(/\/$/, ''))

export const ledgerLimits = z.strictObject({
  maxJump: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(10_000_000),
  maxId: z.int().min(1).max(Number.MAX_SAFE_INTEGER).default(Number.MAX_SAFE_INTEGER),
  collections: z.int().min(1).default(10_000),
  databases: z.int().min(1).default(1_000),
} satisfies Checks<LedgerLimits>)

/** The limits of the ledger, and those of the handler in front of it. */
export function parted<T extends Optional<LedgerLimits>>(limits: T) {
  const { maxJump, maxId, collections, databases, ...handlerLimits } = limits
  const ledgerLimits = { maxJump, maxId, collections, databases } as Pick<T, keyof LedgerLimits>
  return { ledgerLimits, handlerLimits }
}

/** The messages do not say the value. */
export const secrets = z
  .array(z.string().min(32, 'has to have at least 32 characters, as `openssl rand -hex 32` makes'))
  .min(1, 'is empty: give a secret, or leave it out')

/**
 * @param nameOf the name of the option at a path, as the user wrote it
 * @throws Error that names every wrong option and the fix
 */
export function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  what: string,
  nameOf = (path: readonly PropertyKey[]) => path.join('.') || 'options',
): T {
  const result = schema.safeParse(value, { error: inWords })
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => `${nameOf(issue.path)}: ${issue.message}`)
  throw new Error(
    `${what} cannot use its options.\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  )
}

/** For a wrong option that has no message of its own. */
export const inWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type': {
      const form = FORMS[issue.expected] ?? issue.expected
      return issue.input === undefined ? `is missing; it has to be ${form}` : `has to be ${form}`
    }
    case 'unrecognized_keys': {
      const keys = issue.keys.map((key) => `"${key}"`).join(', ')
      const known = Object.keys((issue.inst as z.ZodObject | undefined)?.shape ?? {})
      return `Unrecognized key: ${keys}. ${hint(issue.keys, known)}There are: ${known.join(', ')}.`
    }
    case 'too_small':
      return issue.origin === 'number'
        ? `has to be at least ${issue.minimum}`
        : 'is empty: leave it out'
    case 'invalid_key':
      return issue.issues[0]?.message
    case 'too_big':
      return `has to be at most ${issue.maximum}`
    default:
      return undefined
  }
}

/** Below it, a name is probably another word. */
const LEAST_LIKENESS = 0.6

/** `Did you mean port? `, or nothing where no known name is like the written one. */
export function hint(written: readonly string[], known: readonly string[]): string {
  const meant = written.flatMap((name) => {
    const ranked = known
      .map((each) => ({ each, likeness: likeness(name, each) }))
      .sort((a, b) => b.likeness - a.likeness)
    return ranked[0] && ranked[0].likeness >= LEAST_LIKENESS ? ranked[0].each : []
  })
  return meant.length > 0 ? `Did you mean ${meant.join(', ')}? ` : ''
}

/** 0 to 1: how many letters two names share, in the same order, as DB_URL and DATABASE_URL. */
function likeness(a: string, b: string): number {
  const [first, second] = [a, b].map((name) => [
    ...name.toLowerCase().replace(/^hilo_|[^a-z\d]/g, ''),
  ])
  let before = [0, ...second!.map(() => 0)]
  for (const letter of first!) {
    const row = [0]
    for (const [i, other] of second!.entries())
      row.push(letter === other ? before[i]! + 1 : Math.max(row[i]!, before[i + 1]!))
    before = row
  }
  return (2 * before.at(-1)!) / (first!.length + second!.length)
}

const FORMS: Readonly<Record<string, string>> = {
  array: 'a list, as in ["…"]',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object, as in {"…": …}',
  record: 'an object, as in {"…": …}',
  string: 'a text',
}
