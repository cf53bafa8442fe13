/**
 * The setting `collections`: which collections are bound, and to what: the counter of a back end's
 * ORM, or a RavenDB. Guarantees that a wrong setting is refused with its name and the fix.
 */
import { z } from 'zod'
import { type CollectionKey, CounterUnusable } from '../ledger/ledger.js'
import { databaseName } from '../ledger/options.js'
import { type Binding, type CounterOptions, counterSettings, toBinding } from './orm/binding.js'
import { nameOf } from './orm/sql-counter.js'
import { type Upstream, type UpstreamOptions, upstreamSettings } from './upstream/options.js'

/** By database, then by collection. */
export type CollectionsOptions = Readonly<
  Record<string, Readonly<Record<string, CounterOptions | UpstreamOptions>>>
>

export type Bound = { database: string; collection: string } & (
  | { counter: Binding }
  | { upstream: Upstream }
)

/** By `bindingKey`. */
export type Bindings = ReadonlyMap<string, Bound>

/** Who counts a collection: this ledger, an ORM's counter in the ledger's database, an upstream. */
export type Authority = 'ledger' | 'counter' | 'upstream'

export function authorityOf(bindings: Bindings, key: CollectionKey): Authority {
  const bound = bindings.get(bindingKey(key))
  return !bound ? 'ledger' : 'counter' in bound ? 'counter' : 'upstream'
}

/** @throws Error when the counter of a binding is in no database that was given */
export function refuseWithoutPostgres(bindings: Bindings, databaseUrl: string | undefined): void {
  const bound = [...bindings.values()].find((one) => 'counter' in one)
  if (bound && databaseUrl === undefined)
    throw new Error(
      `${bound.database}/${bound.collection} is bound to an ORM's counter, so the ledger has to be in that PostgreSQL database. ` +
        'Give --database-url (embedded: databaseUrl).',
    )
}

/**
 * What a ledger remembers of a binding: in other blocks, or from another counter, it would grant
 * ids that are in use.
 */
export function descriptionOf(bound: Bound): string {
  if ('upstream' in bound)
    return (
      `the ranges of ${bound.upstream.tag ?? bound.collection} in RavenDB database ` +
      `${bound.upstream.database}`
    )
  return `${bound.counter.strategy} on ${nameOf(bound.counter)} with ${bound.counter.size}`
}

/**
 * Compares the configuration with what a ledger remembers.
 * @param remembered by `bindingKey`
 */
export function changedBindings(
  bindings: Bindings,
  remembered: ReadonlyMap<string, string>,
): string[] {
  return [...bindings].flatMap(([key, bound]) => {
    const [before, now] = [remembered.get(key), descriptionOf(bound)]
    if (before === undefined || before === now) return []
    const adopt =
      'counter' in bound
        ? '; or, when everybody who takes from the counter has changed at once: ' +
          `offline-hilo-server adopt ${bound.database} ${bound.collection} --from <table>.<column> --apply`
        : ''
    return [
      `${key}: the ledger knows it as ${before}, the configuration says ${now}. Set it ` +
        `back${adopt}.`,
    ]
  })
}

/**
 * @param remembered what the ledger remembers of the collection's binding
 * @throws CounterUnusable when that is another one, or when there is none in the configuration: the
 * ledger would count over the other's ids
 */
export function refuseChanged(
  bindings: Bindings,
  key: CollectionKey,
  remembered: string | null | undefined,
): void {
  const bound = bindings.get(bindingKey(key))
  const now = bound && descriptionOf(bound)
  if ((remembered ?? undefined) !== now)
    throw new CounterUnusable(
      `The ledger knows ${bindingKey(key)} as ${remembered ?? 'counted by itself'}, this server as ${now ?? 'counted by the ledger'}. ` +
        'Give every server the same `collections`, and start them again.',
    )
}

/** Where a ledger remembers a binding, among its settings. */
export const BINDING_PREFIX = 'binding:'

/** Databases have no `/` in their names. */
export const bindingKey = ({ database, collection }: CollectionKey): string =>
  `${database}/${collection}`.toLowerCase()

const one = z.looseObject({}, 'is an object, like {"strategy": "efcore", …} or {"upstream": {…}}')

export const collectionsSetting = z
  .record(databaseName, z.record(z.string().min(1), one))
  .transform((databases, context): Bindings => {
    const bindings = new Map<string, Bound>()
    const fail = (path: PropertyKey[], message: string) => {
      context.issues.push({ code: 'custom', path, message, input: databases })
    }
    for (const [database, collections] of Object.entries(databases))
      for (const [collection, settings] of Object.entries(collections)) {
        const key = bindingKey({ database, collection })
        if (bindings.has(key))
          fail(
            [database, collection],
            'is there twice: databases and collections are compared lower-cased',
          )
        const { data, error } = (
          'upstream' in settings ? upstreamSettings : counterSettings
        ).safeParse(settings)
        for (const issue of error?.issues ?? [])
          fail([database, collection, ...issue.path], issue.message)
        if (!data) continue
        if ('upstream' in data) bindings.set(key, { database, collection, upstream: data.upstream })
        else {
          const binding = toBinding(data)
          if (Array.isArray(binding))
            for (const [setting, message] of binding) fail([database, collection, setting], message)
          else bindings.set(key, { database, collection, counter: binding })
        }
      }
    return bindings
  })
