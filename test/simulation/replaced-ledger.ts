/**
 * The ledger behind a running server becomes another one for a while: an old primary, the ledger of
 * somebody else, none at all, a file that the next start does not find, or a backup that was copied
 * over the file. Nothing that the server had granted may be granted once more, so the checker is
 * told nothing of all this.
 */
import { askAtOnce } from './app.js'
import { OwnServer } from './own-servers.js'
import { isOneLedger, type Profile } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'
import { SqliteStorage } from './sqlite-storage.js'

/** One seed in this many. */
const EVERY = 6
const REMAINDER = 4
/** Operators need longer. */
const LONGEST_MS = 60_000

type Word = 'old primary' | 'another ledger' | 'not mounted' | 'moved' | 'written over'

export class ReplacedLedger {
  #isUnderWay = false
  #backup: string | undefined
  readonly #simulation: Simulation

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Such a schedule keeps its ledger in SQLite. */
  static happens(seed: number, profile: Profile): boolean {
    return seed % EVERY === REMAINDER && isOneLedger(profile)
  }

  act(node: string): void {
    const server = this.#simulation.servers.get(node)
    if (this.#isUnderWay || !(server instanceof OwnServer)) return
    const { storage } = server
    if (!(storage instanceof SqliteStorage)) return
    this.#backup ??= storage.backUp()
    const words: Record<Word, () => void> = {
      'old primary': () => this.#oldPrimary(server, storage),
      'another ledger': () => this.#anotherLedger(server, storage),
      'not mounted': () => this.#notMounted(server, storage),
      moved: () => this.#moved(server, storage),
      'written over': () => this.#writtenOver(server, storage),
    }
    words[this.#random.pick(Object.keys(words) as Word[])]()
  }

  get #random(): Random {
    return this.#simulation.random
  }

  /**
   * Each process has seen a commit that the old primary lacks: one that has seen none can only
   * learn it from the tokens of devices.
   */
  #oldPrimary(server: OwnServer, storage: SqliteStorage): void {
    this.#beneath(server, storage, 'an old primary came back', (now) =>
      storage.markIn(this.#backup!) < storage.markIn(now) ? this.#backup : undefined,
    )
  }

  #anotherLedger(server: OwnServer, storage: SqliteStorage): void {
    this.#beneath(server, storage, 'another ledger was found', () => storage.anotherLedger())
  }

  /** @param choose undefined: nothing comes in its place */
  #beneath(
    server: OwnServer,
    storage: SqliteStorage,
    what: string,
    choose: (now: string) => string | undefined | Promise<string>,
  ): void {
    this.#for(what, async () => {
      // As a load balancer has it do every few seconds.
      await server.look()
      const now = storage.backUp()
      const instead = await choose(now)
      if (instead === undefined) return
      this.#simulation.hit(what)
      storage.replaceRows(instead)
      return () => storage.replaceRows(now)
    })
  }

  #notMounted(server: OwnServer, storage: SqliteStorage): void {
    this.#for('a server starts without its volume', async () => {
      await server.stop()
      storage.unmount()
      await server.start().catch(() => this.#simulation.hit('a server had no ledger to start with'))
      return async () => {
        await server.stop()
        storage.mount()
        await server.start()
      }
    })
  }

  #moved(server: OwnServer, storage: SqliteStorage): void {
    this.#for('the file will be moved', async () => {
      storage.moveAtCommit(() => this.#simulation.hit('the file was moved during a commit'))
      return async () => {
        await server.stop()
        await server.start()
      }
    })
  }

  /** As `cp backup hilo.db` does. Then a person stops the server and puts the ledger back. */
  #writtenOver(server: OwnServer, storage: SqliteStorage): void {
    this.#for('a backup was copied over the file', async () => {
      const now = storage.backUp()
      storage.writeOver(this.#backup!)
      this.#simulation.hit('the file was written over')
      return async () => {
        await server.stop()
        storage.restore(now)
        await server.start()
      }
    })
  }

  /** @param begin returns how it ends */
  #for(what: string, begin: () => Promise<(() => unknown) | undefined>): void {
    const { scheduler, networkActor: actor } = this.#simulation
    this.#isUnderWay = true
    scheduler.post(actor, 0, what, async () => {
      const end = await begin()
      askAtOnce(this.#simulation)
      const ends = async () => {
        await end?.()
        askAtOnce(this.#simulation)
        this.#isUnderWay = false
      }
      scheduler.post(actor, this.#random.between(1, LONGEST_MS), `no longer: ${what}`, ends)
    })
  }
}
