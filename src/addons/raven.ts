/**
 * `offline-hilo/raven`: RavenDB's conventions for the names of collections. It is an entry of its
 * own, so that the main bundle carries no pluraliser.
 */
import pluralize from 'pluralize'
import { type EntityClass, sourceNameOf } from '../core/names.js'

/**
 * `Order` → `Orders`, as RavenDB's clients name collections.
 * @throws HiloError `invalid-collection` when a minifier seems to have made the class's name
 */
export const findCollectionName = (entityClass: EntityClass): string =>
  pluralize.plural(sourceNameOf(entityClass))

/**
 * `Orders` → `orders`, and `OrderLines` → `OrderLines`: lower case, unless the name has two
 * capitals. RavenDB's clients make the prefixes of ids like that.
 */
export const transformCollectionName = (collectionName: string): string =>
  (collectionName.match(/\p{Lu}/gu) ?? []).length > 1
    ? collectionName
    : collectionName.toLowerCase()

/** Both, to spread into the options: `createHilo({ ...ravenConventions, url })`. */
export const ravenConventions = { findCollectionName, transformCollectionName }
