/**
 * The browser process that runs one device's IndexedDB: it outlives pages, and decides which
 * transaction runs when.
 */
import type { Disk, Home, Write } from './disk.js'
import type { Actor, Scheduler } from './scheduler.js'

/** What can go wrong with a device's IndexedDB. */
export interface StorageFaults {
  /** `indexedDB.open` fails, or never answers. */
  open: 'works' | 'fails' | 'hangs'
  /** Probability that a transaction fails when it commits. */
  commitFails: number
  /** The bucket does not open. */
  bucket: 'works' | 'fails'
  /** Nobody can say which buckets and databases there are. */
  lists: 'work' | 'fail'
  /** Until then nothing that is asked is answered: the disk stands still. */
  standsUntil: number
}

export const STORAGE_WORKS: StorageFaults = {
  open: 'works',
  commitFails: 0,
  bucket: 'works',
  lists: 'work',
  standsUntil: 0,
}

/** What other transactions need to know of one, to wait for it. */
export interface Waiting {
  readonly owner: Actor
  readonly isCommitted: boolean
  blocks(later: Waiting): boolean
  start(): void
  fail(name: string): void
}

export interface Connection {
  readonly actor: Actor
  readonly home: Home
  lose(): void
  /** Each transaction fails from now on, and no event says so. */
  die(): void
}

export class DatabaseHost {
  readonly disk: Disk
  readonly scheduler: Scheduler
  readonly actor: Actor
  readonly faults: StorageFaults
  /** Of the device's database, once one was made. */
  name = ''
  readonly connections = new Set<Connection>()
  /**
   * Writes of these pages never arrive: some engines drop what a page writes while it closes.
   */
  readonly deafTo = new Set<Actor>()
  /** Called after each commit that changed something. */
  committed: (writes: readonly Write[], isStrict: boolean) => void = () => {}
  /** Does the device crash before this commit is made? */
  crashes: () => boolean = () => false
  /** Called for each commit that failed. */
  failed: () => void = () => {}
  #transactions: Waiting[] = []

  constructor(disk: Disk, scheduler: Scheduler, actor: Actor, faults: StorageFaults) {
    this.disk = disk
    this.scheduler = scheduler
    this.actor = actor
    this.faults = faults
  }

  add(transaction: Waiting): void {
    this.#transactions.push(transaction)
    this.#run()
  }

  remove(transaction: Waiting): void {
    this.#transactions = this.#transactions.filter((other) => other !== transaction)
    this.#run()
  }

  /** A page or worker died: a transaction that it had not committed never happens. */
  abandon(owner: Actor): void {
    for (const transaction of this.#transactions)
      if (transaction.owner === owner && !transaction.isCommitted) transaction.fail('AbortError')
  }

  /** The browser died, or threw the database away. */
  dropAll(): void {
    for (const transaction of [...this.#transactions]) transaction.fail('AbortError')
    for (const connection of [...this.connections]) connection.lose()
  }

  killConnections(): void {
    for (const connection of this.connections) connection.die()
  }

  /** @param make undefined: it fails */
  answer<T>(actor: Actor, what: string, make: () => T | undefined): Promise<T> {
    const failure = new DOMException('The simulated storage does not answer.', 'UnknownError')
    return new Promise((resolve, reject) => {
      this.scheduler.post(actor, this.delay() + 1, what, () => {
        const made = make()
        if (made === undefined) reject(failure)
        else resolve(made)
      })
    })
  }

  delay(): number {
    const { random, now } = this.scheduler
    const usual = random.chance(0.1) ? random.between(5, 40) : random.between(0, 2)
    return Math.max(usual, this.faults.standsUntil - now)
  }

  /** Starts each transaction that no earlier one blocks. */
  #run(): void {
    this.#transactions.forEach((transaction, i) => {
      if (!this.#transactions.slice(0, i).some((earlier) => earlier.blocks(transaction)))
        transaction.start()
    })
  }
}
