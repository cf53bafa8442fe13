/** Who may ask for what: which databases exist, and what the application allows. */
import type { Context } from 'hono'
import { databaseName } from '../ledger/options.js'
import type { CheckedOptions, Wanted } from './options.js'
import { badParameter, databaseMissing, forbidden } from './refusals.js'

/** The database that the path names. */
export const databaseOf = (c: Context, { databases }: CheckedOptions): string =>
  checkDatabase(c.req.param('database')!, databases, 500)

/**
 * @param databases undefined: any
 * @param missingStatus RavenDB answers 503 on `/topology` and 500 elsewhere
 */
export function checkDatabase(
  name: string,
  databases: readonly string[] | undefined,
  missingStatus: 500 | 503,
): string {
  const { success, error } = databaseName.safeParse(name)
  if (!success)
    throw badParameter(`The name of the database cannot be: ${error.issues[0]!.message}.`)
  const isThere = (other: string) => other.toLowerCase() === name.toLowerCase()
  if (databases && !databases.some(isThere)) throw databaseMissing(name, missingStatus)
  return name
}

export async function authorize(
  c: Context,
  { authorize }: CheckedOptions,
  wanted: Wanted,
): Promise<void> {
  if (!authorize || (await authorize(c.env.request, wanted)) === true) return
  const what = wanted.tag === undefined ? 'this database' : `'${wanted.tag}'`
  throw forbidden(`Forbidden: this user may not use ${what} here.`)
}
