/** Plays the schedule of one seed, on this process's globals, and tells what came of it. */
import './comlink.js'
import { MemoryStore } from '../../src/store/memory.js'
import type { OwnServers } from './own-servers.js'
import type { Profile } from './profile.js'
import { installGlobals } from './realm.js'
import { turn } from './scheduler.js'
import { Simulation } from './simulation.js'
import type { WordName } from './words.js'

export interface Outcome {
  seed: number
  profile: Profile
  violations: string[]
  /** How often each fault was hit. */
  hits: Map<string, number>
  tolerated: Map<string, number>
  steps: number
  issued: number
  /** Numbers that nobody will issue, each for a recorded reason. */
  gaps: number
  trace: string[] | undefined
}

/** @returns a function that puts it back */
function watchMemory(isUsed: () => void): () => void {
  const { update } = MemoryStore.prototype
  MemoryStore.prototype.update = function (this: MemoryStore, ...change) {
    isUsed()
    return update.apply(this, change)
  } as typeof update
  return () => {
    MemoryStore.prototype.update = update
  }
}

let schedules = 0

export async function simulate(
  seed: number,
  ownServers: OwnServers,
  wantsTrace = false,
  words?: readonly WordName[],
): Promise<Outcome> {
  const trace: string[] | undefined = wantsTrace ? [] : undefined
  const simulation = new Simulation(seed, `s${++schedules}`, trace, words)
  const { checker, hits, profile, scheduler } = simulation
  const restore = installGlobals(scheduler, wantsTrace ? 8 : 0)
  const unwatch = watchMemory(() => simulation.keepsInMemory(scheduler.current))
  const unhandled = (error: unknown) =>
    checker.complain(`unhandled rejection: ${(error as Error)?.stack ?? error}`)
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', unhandled)
  try {
    await simulation.run(ownServers)
    await turn()
  } catch (error) {
    checker.complain((error as Error).stack ?? String(error))
  } finally {
    restore()
    unwatch()
    process.off('unhandledRejection', unhandled)
    for (const listener of listeners) process.on('unhandledRejection', listener)
  }
  return {
    seed,
    profile,
    violations: checker.violations,
    hits,
    tolerated: checker.tolerated,
    steps: scheduler.steps,
    issued: checker.issuedCount,
    gaps: simulation.gaps,
    trace,
  }
}
