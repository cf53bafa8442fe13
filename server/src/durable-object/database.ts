/**
 * A database as a Durable Object: the whole handler and its ledger. Guarantees that an object
 * without a ledger makes none unless somebody says so, and that it forgets what is old by itself.
 */
import { DurableObject } from 'cloudflare:workers'
import { createHandler, type Handler } from '../http/handler.js'
import { createLedger } from '../ledger/create-ledger.js'
import type {
  CollectionCounts,
  CollectionKey,
  Explanation,
  Floor,
  Floors,
  HandOverRefusal,
  IdentityKey,
  Ledger,
  NumberQuestion,
  RaisedFloors,
  RangeRefusal,
  Series,
  SeriesClosing,
  SeriesGift,
  SeriesHandOver,
  SeriesRenaming,
} from '../ledger/ledger.js'
import { PRUNE_INTERVAL_MS, pruningAt } from '../ledger/prune.js'
import type { ObjectState } from './cloudflare.js'
import { checkWorkerOptions, type HiloWorkerOptions } from './options.js'
import { PORTS } from './ports.js'
import { openDurableStore } from './store.js'

/** What the owner's own Worker may call on an object. */
export interface HiloDatabase {
  fetch(request: Request): Promise<Response>
  /** Can the ledger be written to? Resolves with the names that grant nothing since a restore. */
  ping(): Promise<string[]>
  status(): Promise<CollectionCounts[]>
  /** The database, where it grants nothing since a restore. */
  restored(): Promise<string[]>
  names(): Promise<{ collections: CollectionKey[]; identities: IdentityKey[] }>
  explain(asked: NumberQuestion): Promise<Explanation>
  raiseFloor(floor: Floor): Promise<number>
  raiseFloors(floors: Floors): Promise<RaisedFloors>
  drop(what: { database: string; collection?: string | undefined }): Promise<void>
  series(database: string): Promise<Series[]>
  closeSeries(closing: Omit<SeriesClosing, 'at'>): Promise<Series | undefined>
  renameDevice(renaming: SeriesRenaming): Promise<Series | undefined>
  handOverSeries(handOver: Omit<SeriesHandOver, 'at'>): Promise<Series | HandOverRefusal>
  giveRange(gift: SeriesGift): Promise<Series | RangeRefusal>
}

export type HiloDatabaseClass<Env> = new (ctx: ObjectState, env: Env) => HiloDatabase

interface Opened {
  ledger: Ledger
  handler: Handler
}

export function hiloDatabase<Env>(
  optionsIn: (env: Env) => HiloWorkerOptions,
): HiloDatabaseClass<Env> {
  return class extends DurableObject<Env> implements HiloDatabase {
    #opened: Promise<Opened> | undefined

    /** Once per wake; a failure is tried again. */
    #open(): Promise<Opened> {
      this.#opened ??= openIn(this.ctx, optionsIn(this.env)).catch((error) => {
        this.#opened = undefined
        throw error
      })
      return this.#opened
    }

    async #ledger(): Promise<Ledger> {
      return (await this.#open()).ledger
    }

    async fetch(request: Request): Promise<Response> {
      return (await this.#open()).handler(request)
    }

    async alarm(): Promise<void> {
      const { horizon } = checkWorkerOptions(optionsIn(this.env))
      await (await this.#ledger()).prune(pruningAt(Date.now(), horizon))
      await this.ctx.storage.setAlarm(Date.now() + PRUNE_INTERVAL_MS)
    }

    async ping(): Promise<string[]> {
      const ledger = await this.#ledger()
      await ledger.ping()
      return ledger.restored()
    }

    async status(): Promise<CollectionCounts[]> {
      return (await this.#ledger()).status()
    }

    async restored(): Promise<string[]> {
      return (await this.#ledger()).restored()
    }

    async names(): Promise<{ collections: CollectionKey[]; identities: IdentityKey[] }> {
      return (await this.#ledger()).names()
    }

    async explain(asked: NumberQuestion): Promise<Explanation> {
      return (await this.#ledger()).explain(asked)
    }

    async raiseFloor(floor: Floor): Promise<number> {
      return (await this.#ledger()).raiseFloor(floor)
    }

    async raiseFloors(floors: Floors): Promise<RaisedFloors> {
      return (await this.#ledger()).raiseFloors(floors)
    }

    async drop(what: { database: string; collection?: string | undefined }): Promise<void> {
      return (await this.#ledger()).drop({ ...what, at: Date.now() })
    }

    async series(database: string): Promise<Series[]> {
      return (await this.#ledger()).series(database)
    }

    async closeSeries(closing: Omit<SeriesClosing, 'at'>): Promise<Series | undefined> {
      return (await this.#ledger()).closeSeries({ ...closing, at: Date.now() })
    }

    async giveRange(gift: SeriesGift): Promise<Series | RangeRefusal> {
      return (await this.#ledger()).giveRange(gift)
    }

    async renameDevice(renaming: SeriesRenaming): Promise<Series | undefined> {
      return (await this.#ledger()).renameDevice(renaming)
    }

    async handOverSeries(handOver: Omit<SeriesHandOver, 'at'>): Promise<Series | HandOverRefusal> {
      return (await this.#ledger()).handOverSeries({ ...handOver, at: Date.now() })
    }
  }
}

async function openIn({ storage }: ObjectState, options: HiloWorkerOptions): Promise<Opened> {
  const { create, secrets, ledgerLimits, handler } = checkWorkerOptions(options)
  const store = openDurableStore(storage, { create, secrets })
  const ledger = createLedger(store, ledgerLimits, new Map())
  // The clock is asked here: while a Worker's modules load, it is 1970.
  if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + PRUNE_INTERVAL_MS)
  return { ledger, handler: createHandler({ ...handler, ledger }, PORTS) }
}
