/**
 * `offline-hilo/raven`: RavenDB's conventions for collection names and ids, apart so that the main
 * bundle carries no pluraliser.
 */
import pluralize from 'pluralize'
import type { EntityClass } from './core/names.js'

/** `Order` → `Orders`, as RavenDB's clients name collections. */
export const findCollectionName = (entityClass: EntityClass): string =>
  pluralize.plural(entityClass.name)

/**
 * `Orders` → `orders`, but `OrderLines` stays: lower case unless it has two capitals, as RavenDB's
 * clients make id prefixes.
 */
export const transformCollectionName = (collectionName: string): string =>
  (collectionName.match(/\p{Lu}/gu) ?? []).length > 1
    ? collectionName
    : collectionName.toLowerCase()

/** Both, to spread into the options: `createHilo({ ...ravenConventions, url })`. */
export const ravenConventions = { findCollectionName, transformCollectionName }
