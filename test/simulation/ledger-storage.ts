/**
 * Keeps the ledger of one node in memory. Its copies are as consistent as a backup.
 * `sqlite-storage.ts` does the same with a real database.
 */
import { createLedger } from '../../server/src/ledger/create-ledger.js'
import type { Ledger } from '../../server/src/ledger/ledger.js'
import { ledgerLimits } from '../../server/src/open-ledger.js'
import { type MemoryRows, MemoryStore } from '../../server/test/ledger/memory-store.js'

export interface LedgerStorage {
  /** Opens the ledger for another process of the node. */
  open(): Promise<Ledger>
  /** Makes a consistent copy of all that the ledger has now. */
  backUp(): Copy
  /** Is as it was then. No process may have it open. */
  restore(copy: Copy): void
  /** What earlier schedules left may go: each has databases of its own name. */
  forget(): void
  /** For good. */
  remove(): void
}

/** The file of a copy, or its rows. */
export type Copy = string | MemoryRows

const LIMITS = ledgerLimits.parse({})

export class MemoryStorage implements LedgerStorage {
  readonly #store = new MemoryStore()

  async open(): Promise<Ledger> {
    return createLedger(this.#store, LIMITS, new Map())
  }

  backUp(): Copy {
    return this.#store.copy()
  }

  restore(copy: Copy): void {
    this.#store.replace(copy as MemoryRows)
  }

  forget(): void {
    this.#store.replace(new MemoryStore().copy())
  }

  remove(): void {}
}
