/**
 * Two tenants of one app, on one origin: each has a counter of its own, and both counters begin
 * at 1. Only the keys of the two sources tell their ranges on a device apart.
 */
import type { DeviceState } from '../../src/device/state.js'

/** No tenants: an app with one counter. */
export type Tenant = 'north' | 'south' | ''

export const TENANTS: readonly Tenant[] = ['north', 'south']

/** How the checker calls a tenant's collection. */
export const ofTenant = (tag: string, tenant: Tenant): string => (tenant ? `${tag}@${tenant}` : tag)

/**
 * The name of a device's state: it has one for each collection as its app spells it, of each
 * tenant, with the separator of the ids.
 */
export const stateNamed = (spelled: string, tenant: Tenant, separator: string): string =>
  `${ofTenant(spelled, tenant)}${separator}`

/** On a server of our own, each has a database. */
export const databaseOf = (database: string, tenant: Tenant): string =>
  tenant ? `${database}-${tenant}` : database

/** Whose key, database or address is this? */
export const tenantIn = (text: string): Tenant => TENANTS.find((each) => text.includes(each)) ?? ''

/** The state under this key. The collections of its ranges are named with their tenant. */
export function labelled(key: unknown, state: DeviceState): DeviceState {
  const tenant = tenantIn(JSON.stringify(key))
  if (!tenant) return state
  const name = <T extends { prefix: string }>(range: T): T => ({
    ...range,
    prefix: `${ofTenant(range.prefix.slice(0, -1), tenant)}/`,
  })
  return {
    ...state,
    ranges: state.ranges.map(name),
    leases: state.leases.map((each) => ({ ...each, range: name(each.range) })),
    offers: state.offers.map((each) => ({ ...each, range: name(each.range) })),
  }
}
