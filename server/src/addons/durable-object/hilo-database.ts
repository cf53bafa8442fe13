/**
 * A database as a Durable Object: the whole handler and its ledger. Guarantees that an object
 * without a ledger makes none unless somebody says so, and that it prunes old rows by itself.
 */
import { DurableObject } from 'cloudflare:workers'
import { createHandler, type Handler } from '../../http/handler.js'
import { OPERATED_METHODS, type OperatedLedger } from '../../http/operated.js'
import { createLedger } from '../../ledger/create-ledger.js'
import type {
  Drop,
  HandOverRefusal,
  Ledger,
  Series,
  SeriesClosing,
  SeriesHandOver,
} from '../../ledger/ledger.js'
import { PRUNE_INTERVAL_MS, pruningAt } from '../../ledger/prune.js'
import type { ObjectState } from './cloudflare.js'
import { storedBudgets } from './kept-budgets.js'
import { openDurableStore, runnerIn } from './object-store.js'
import { PORTS } from './ports.js'
import { checkWorkerOptions, type HiloWorkerOptions } from './worker-options.js'

/** The methods that the owner's own Worker may call on an object. The object has the clock. */
export interface HiloDatabase
  extends Omit<OperatedLedger, 'drop' | 'closeSeries' | 'handOverSeries'> {
  fetch(request: Request): Promise<Response>
  drop(what: Omit<Drop, 'at'>): Promise<void>
  closeSeries(closing: Omit<SeriesClosing, 'at'>): Promise<Series | undefined>
  handOverSeries(handOver: Omit<SeriesHandOver, 'at'>): Promise<Series | HandOverRefusal>
}

export type HiloDatabaseClass<Env> = new (ctx: ObjectState, env: Env) => HiloDatabase

interface Opened {
  ledger: Ledger
  handler: Handler
}

export function hiloDatabase<Env>(
  optionsIn: (env: Env) => HiloWorkerOptions,
): HiloDatabaseClass<Env> {
  class HiloObject extends DurableObject<Env> {
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

    static {
      // Cloudflare calls methods of the prototype only.
      for (const method of OPERATED_METHODS)
        Object.defineProperty(HiloObject.prototype, method, {
          async value(this: HiloObject, asked?: string | object) {
            const given = typeof asked === 'object' ? { ...asked, at: Date.now() } : asked
            const answer = await (await this.#ledger())[method](given as never)
            // An open ledger would go on signing with the old one, and so grant nothing.
            if (method === 'renewSecret') this.#opened = undefined
            return answer
          },
        })
    }
  }
  return HiloObject as unknown as HiloDatabaseClass<Env>
}

async function openIn({ storage }: ObjectState, options: HiloWorkerOptions): Promise<Opened> {
  const { create, secrets, ledgerLimits, handler } = checkWorkerOptions(options)
  const budgets = storedBudgets(runnerIn(storage))
  const store = openDurableStore(storage, { create, secrets }, budgets)
  const ledger = createLedger(store, ledgerLimits, new Map())
  // The clock is asked here: while a Worker's modules load, it is 1970.
  if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + PRUNE_INTERVAL_MS)
  return { ledger, handler: createHandler({ ...handler, ledger }, { ...PORTS, budgets }) }
}
