/**
 * The word `forgotten-tag`: two ledgers whose ids differ by their node tags alone. An operator
 * starts the servers of one, or one of its two processes, with the tag of the other, and later with
 * its own again. A ledger keeps its tag, so nothing is granted meanwhile.
 */
import { askAtOnce } from './app.js'
import { OwnServer } from './own-servers.js'
import type { Simulation } from './simulation.js'
import { SqliteStorage } from './sqlite-storage.js'
import type { Word } from './words.js'

const LONGEST_MS = 60_000

export const forgottenTag: Word = {
  // To the devices it looks like a server that is down.
  fits: ({ authority, counts, hasClones, goesBack, hasRestore, faults }) =>
    authority === 'own' &&
    counts === 'its ledger' &&
    !(hasClones || goesBack || hasRestore) &&
    faults.has('servers'),
  world: () => ({ nodes: ['A', 'B'] }),
  happens(simulation, { node }, random) {
    const { servers, scheduler, networkActor, checker, profile } = simulation
    const server = servers.get(node)
    // The rules of a ledger in memory are a model.
    if (!(server instanceof OwnServer && server.storage instanceof SqliteStorage)) return
    const others = profile.nodes.filter((each) => each !== node)
    const isForBoth = random.chance(0.5)
    const passed = random.between(1, LONGEST_MS)
    scheduler.post(networkActor, 0, `server ${node} starts with the tag ${others}`, async () => {
      // Before its first change, a ledger has no tag.
      if (server.tags.some((tag) => tag !== node) || checker.highestOf(node) === 0) return
      simulation.hit('a server forgot its tag')
      await startWith(server, [...others, isForBoth ? others : node].flat())
      askAtOnce(simulation)
      scheduler.post(networkActor, passed, `server ${node} has its tag again`, () =>
        remember(server, node),
      )
    })
  },
  heal({ servers, scheduler, networkActor }: Simulation) {
    for (const [node, server] of servers)
      if (server instanceof OwnServer)
        scheduler.post(networkActor, 0, `server ${node} has its tag`, () => remember(server, node))
  },
}

async function remember(server: OwnServer, node: string): Promise<void> {
  if (server.tags.some((tag) => tag !== node)) await startWith(server, [node, node])
}

const startWith = (server: OwnServer, tags: readonly string[]): Promise<void> =>
  server.whileStopped(() => {
    server.tags = tags
  })
