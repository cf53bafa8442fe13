/** Finds the node that granted a bare number, for the checker: the number does not say it. */
import type { Page } from './device.js'
import { isOfTheApp } from './profile.js'
import type { Simulation } from './simulation.js'
import { ofTenant } from './tenants.js'

/** The node of the range that has this number. */
export function nodeOf(simulation: Simulation, page: Page, tag: string, number: number): string {
  const { device, tenant, nodes } = page
  const leases = simulation.statesOf(device).flatMap((state) => state.leases)
  const held = leases.find(
    ({ id, range: { prefix, from, to } }) =>
      page.isNamed(id) &&
      prefix.toLowerCase() === `${ofTenant(tag, tenant)}/` &&
      from <= number &&
      number <= to,
  )
  // A page whose storage is its memory shows no leases.
  const { authority, nodes: all } = simulation.profile
  const { checker } = simulation
  const granted = all.find((node) =>
    checker.isHolder(`${ofTenant(tag, tenant)}-${node}`, device.name, number),
  )
  const [known = isOfTheApp(authority) ? '' : (granted ?? device.node)] = nodes.get(tag)!
  return held?.range.serverTag ?? known
}
