/** The server of a node, of the kind that the schedule's profile names. */
import { BoundStorage } from './bound-counter.js'
import { claimKey, collectionOf } from './claims.js'
import { HookStorage } from './hook-counter.js'
import { OwnServer, type OwnServers, SOMEBODY, type Witness } from './own-servers.js'
import { RavenModel } from './raven-model.js'
import { EPOCH } from './realm.js'
import { startRegions } from './regions.js'
import { copyProved } from './restores.js'
import type { Simulation } from './simulation.js'
import { CounterModel, DocumentModel } from './source-models.js'

export type Server = OwnServer | RavenModel | DocumentModel | CounterModel

export async function startServer(
  simulation: Simulation,
  node: string,
  ownServers: OwnServers,
): Promise<Server> {
  const { profile, checker, claims, scheduler, random, database } = simulation
  const hit = (fault: string) => simulation.hit(fault)
  if (profile.authority === 'document') return new DocumentModel(checker, hit)
  if (profile.authority === 'nextHi') return new CounterModel(checker, hit)
  if (profile.authority === 'raven')
    return new RavenModel(
      node,
      checker,
      () => EPOCH + scheduler.now + simulation.serverClockError,
      (claim, series, low, high) => claims.answered(claim, series, low, high),
    )
  const witness = witnessOf(simulation, node)
  if (profile.counts === 'a root') return startRegions(simulation, witness)
  const isStored = (collection: string, low: number, high: number) =>
    checker.isInUse(`${collection}-${node}`, low, high)
  const server =
    profile.counts === 'a back end'
      ? await OwnServer.start(node, new BoundStorage())
      : profile.counts === 'a function'
        ? await OwnServer.start(node, new HookStorage(database, profile.collections, isStored))
        : await ownServers.of(node)
  return server.enter({ random, witness, hit })
}

/** What is told of a ledger of our own. */
export function witnessOf(simulation: Simulation, node: string): Witness {
  const { profile, checker, claims, sharedClaims, seenBefore } = simulation
  return {
    checker,
    copyProved: (server) => copyProved(simulation, node, server),
    lostShown(series, high) {
      if (!checker.mustStop(series, high)) return
      simulation.hit('a lost token was shown')
      checker.stopped(node)
    },
    told: (id, device, tokens, isFound) => {
      // Another node does not know the tokens, and a restored server has forgotten some.
      const isSure = profile.nodes.length === 1 && !simulation.wasRestored
      if (simulation.copiesOnline.answered(id, device, tokens, isFound) && isSure)
        checker.complain(`${device} and its copy are online, and its claim did not tell`)
    },
    // A restored server may have forgotten which copies it had found.
    copyFound: (device, series, numbers) => {
      if (simulation.wasRestored) return
      checker.retired(series, numbers)
      if (simulation.isHealed) checker.mustDrop(series, device, numbers)
      // It repeated a check-in whose answer was lost, and another node, which knows none of its
      // tokens, answered it.
      if (profile.nodes.length > 1)
        for (const n of numbers) checker.excuse(series, n, n, 'checked in at another node')
    },
    claimed: (claim, device, series, lastMax, low, high, ledger) => {
      checker.showed(
        series,
        Math.max(lastMax, seenBefore.get(claimKey(claim ?? '', collectionOf(series))) ?? 0),
      )
      checker.granted(series, device, low, high, ledger)
      if (device === SOMEBODY) checker.excuse(series, low, high, 'claimed by somebody')
      if (!claim) return
      claims.answered(claim, series, low, high)
      const sharers = sharedClaims.get(claim) ?? []
      checker.shared(series, low, high, sharers, 'made by a copy beside its original')
    },
  }
}
