/**
 * Keeps the ledger of one node in memory. Its copies are as consistent as a backup.
 * `sqlite-storage.ts` does the same with a real database.
 */
import { createLedger } from '../../server/src/ledger/create-ledger.js'
import { newSecret } from '../../server/src/ledger/grant-token.js'
import type { Ledger } from '../../server/src/ledger/ledger.js'
import { newLedgerName } from '../../server/src/ledger/name.js'
import { ledgerLimits } from '../../server/src/ledger/option-checks.js'
import { NAME, SECRET } from '../../server/src/sql/meta.js'
import { type MemoryRows, MemoryStore } from '../../server/test/ledger/memory-store.js'

export interface LedgerStorage {
  /** Opens the ledger for another process of the node. */
  open(): Promise<Ledger>
  /** Makes a consistent copy of all that the ledger has now. */
  backUp(): Copy
  /** A ledger that was just begun, with a secret of its own. */
  begunAnew(): Promise<Copy>
  /** A place for another ledger, in which none is yet. */
  beside(): LedgerStorage
  /** Puts the ledger back to a copy. No process may have the ledger open. */
  restore(copy: Copy): void
  /** Drops what earlier schedules left: no later schedule uses their databases. */
  forget(): void
  /** Deletes everything. */
  remove(): void
}

/** The path of a copied SQLite file, or the rows. */
export type Copy = string | MemoryRows

export const LIMITS = ledgerLimits.parse({})

export class MemoryStorage implements LedgerStorage {
  protected readonly store = new MemoryStore()

  async open(): Promise<Ledger> {
    return createLedger(this.store, LIMITS, new Map())
  }

  backUp(): Copy {
    return this.store.copy()
  }

  async begunAnew(): Promise<Copy> {
    const { settings, ...rows } = new MemoryStore().copy()
    return {
      ...rows,
      settings: new Map([...settings, [SECRET, newSecret()], [NAME, newLedgerName()]]),
    }
  }

  beside(): MemoryStorage {
    return new MemoryStorage()
  }

  restore(copy: Copy): void {
    this.store.replace(copy as MemoryRows)
  }

  forget(): void {
    this.store.replace(new MemoryStore().copy())
  }

  remove(): void {}
}
