/**
 * The setting `collections`: which collections are bound to the counter of a back end's ORM, or to
 * a RavenDB. The setting `counters` adds those that are bound to functions of the app. Guarantees
 * that a wrong setting is refused with its name and the fix.
 */
import { z } from 'zod'
import { type BoundCollection, bindingKey, HOOK } from '../../ledger/collections.js'
import type { CollectionKey } from '../../ledger/ledger.js'
import { byName, databaseName, inWords } from '../../ledger/option-checks.js'
import { counterHooks, type Hook } from './hook/hook-options.js'
import { type Binding, toBinding } from './orm/counter-binding.js'
import { type CounterOptions, counterSettings } from './orm/counter-options.js'
import { descriptionOf } from './orm/counter-statements.js'
import {
  type Raven,
  type RavenAddress,
  type RavenOptions,
  ravenSettings,
} from './raven/raven-options.js'

/** By database, then by collection. */
export type CollectionsOptions = Readonly<
  Record<string, Readonly<Record<string, CounterOptions | RavenOptions>>>
>

/** With names as they are configured, or, once a process has begun, as they were found. */
export type Bound<Name = string> = BoundCollection &
  (
    | { authority: 'counter'; counter: Binding<Name> }
    | { authority: 'upstream'; upstream: RavenAddress }
    | { authority: 'hook'; hook: Hook }
  )

/** By `bindingKey`. */
export type Bindings<Name = string> = ReadonlyMap<string, Bound<Name>>

/** @throws Error when a binding needs PostgreSQL and no database URL was given */
export function refuseWithoutPostgres(bindings: Bindings, databaseUrl: string | undefined): void {
  const bound = [...bindings.values()].find(({ authority }) => authority === 'counter')
  if (bound && databaseUrl === undefined)
    throw new Error(
      `${bound.database}/${bound.collection} is bound to an ORM's counter, so the ledger has to ` +
        'be in that PostgreSQL database. Give --database-url (embedded: databaseUrl).',
    )
}

const TWICE = 'is there twice: databases and collections are compared lower-cased'

const one = z.looseObject(
  {},
  'has to be an object, like {"strategy": "efcore", …} or {"upstream": {…}}',
)

export const collectionsSetting = byName(databaseName, byName(z.string().min(1), one)).transform(
  (databases, context): Bindings => {
    const bindings = new Map<string, Bound>()
    const fail = (path: PropertyKey[], message: string) => {
      context.issues.push({ code: 'custom', path, message, input: databases })
    }
    for (const [database, collections] of Object.entries(databases))
      for (const [collection, settings] of Object.entries(collections)) {
        const key = bindingKey({ database, collection })
        if (bindings.has(key)) fail([database, collection], TWICE)
        const { data, error } = (
          'upstream' in settings ? ravenSettings : counterSettings
        ).safeParse(settings, { error: inWords })
        for (const issue of error?.issues ?? [])
          fail([database, collection, ...issue.path], issue.message)
        if (!data) continue
        if ('upstream' in data) {
          bindings.set(key, toRaven({ database, collection }, data.upstream))
          continue
        }
        const counter = toBinding({ database, collection }, data)
        if (Array.isArray(counter))
          for (const [setting, message] of counter) fail([database, collection, setting], message)
        else bindings.set(key, toCounter({ database, collection }, counter))
      }
    return bindings
  },
)

function toRaven(key: CollectionKey, { tag = key.collection, ...upstream }: Raven): Bound {
  return {
    ...key,
    authority: 'upstream',
    description: `the ranges of ${tag} in RavenDB database ${upstream.database}`,
    upstream: { ...upstream, tag },
  }
}

const toCounter = (key: CollectionKey, counter: Binding): Bound => ({
  ...key,
  authority: 'counter',
  description: descriptionOf(counter),
  counter,
})

export const countersSetting = counterHooks.transform((databases, context): Bindings => {
  const bindings = new Map<string, Bound>()
  for (const [database, collections] of Object.entries(databases))
    for (const [collection, hook] of Object.entries(collections)) {
      const key = bindingKey({ database, collection })
      if (bindings.has(key))
        context.issues.push({
          code: 'custom',
          path: [database, collection],
          message: TWICE,
          input: databases,
        })
      bindings.set(key, toHook({ database, collection }, hook))
    }
  return bindings
})

/** @throws Error when one collection is in both */
export function joined(collections: Bindings, counters: Bindings): Bindings {
  const twice = [...counters.keys()].find((key) => collections.has(key))
  if (twice !== undefined)
    throw new Error(
      `openLedger: ${twice} is in collections and in counters. Its numbers come from one place: ` +
        'remove the other one.',
    )
  return new Map([...collections, ...counters])
}

const toHook = (key: CollectionKey, hook: Hook): Bound => ({
  ...key,
  authority: 'hook',
  description: `${HOOK} in blocks of ${hook.blockSize}, hi is ${hook.hiIs}`,
  hook,
})
