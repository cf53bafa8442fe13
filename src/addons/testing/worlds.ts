/**
 * The page's and the owner's world in a test, in the place of a browser. Nothing here waits for a
 * timer: a step that is due within a moment runs in a microtask, and nothing else is ever due.
 */
import type { PageWorld } from '../../client/page-world.js'
import type { World } from '../../worker/world.js'
import type { TestServer } from './test-server.js'
import type { TestStore } from './test-store.js'

/** Later steps are for pages that live on: they park, or ask again. */
const MOMENT_MS = 100

export function testPage(server: TestServer): PageWorld {
  let now = 0
  return {
    isOnline: () => server.isUp,
    isVisible: () => true,
    // Two seconds after the last look, so a page is never busy: its numbers depend on no clock.
    now: () => (now += 2_000),
    later(run, ms = 0) {
      // Jest's fake timers take `queueMicrotask`, too.
      if (ms <= MOMENT_MS) void Promise.resolve().then(run)
      return undefined
    },
  }
}

export function testOwner(server: TestServer, store: TestStore): World {
  let ids = 0
  return {
    openStore: async () => store,
    untilOpen: async () => {},
    storageKind: async () => store.kind,
    createSource: () => server,
    now: () => 0,
    date: () => 0,
    after: () => () => {},
    random: () => 0,
    newId: () => `${++ids}`,
    lock: (_, run) => run(),
  }
}
