/**
 * A database as a Durable Object: the whole handler and its ledger. Guarantees that an object
 * without a ledger makes none unless somebody says so, that it answers for its own database only,
 * and that it prunes old rows by itself.
 */
import { DurableObject } from 'cloudflare:workers'
import { createHandler, type Handler } from '../../http/handler.js'
import { answer } from '../../http/messages.js'
import { OPERATED_METHODS, type OperatedLedger } from '../../http/operated.js'
import { databaseIn } from '../../http/paths.js'
import { badRequest, pathOf, refusalBody } from '../../http/refusals.js'
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

/** The argument of a method: the database, or an object with it. */
type Asked = string | { database?: string }

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
      const wrong = this.#refusalOf(databaseIn(request))
      if (wrong === undefined) return (await this.#open()).handler(request)
      return answer(refusalBody(badRequest(wrong), pathOf(request.url)), 400)
    }

    /** Why it does not answer for a database: it would begin at 1 beside that one's own object. */
    #refusalOf(database: string | undefined): string | undefined {
      const { name } = this.ctx.id
      const own = database?.toLowerCase()
      // guard: H31 an object answers for its own database
      if (name === undefined || own === undefined || own === name) return undefined
      return (
        `This is the object of '${name}', and not of '${database}', which is ` +
        `idFromName('${own}'). Nothing was done.`
      )
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
          async value(this: HiloObject, asked?: Asked) {
            const wrong = this.#refusalOf(databaseOf(asked))
            if (wrong !== undefined) throw new RangeError(wrong)
            const given = typeof asked === 'object' ? { ...asked, at: Date.now() } : asked
            const done = await (await this.#ledger())[method](given as never)
            // An open ledger would go on signing with the old one, and so grant nothing.
            if (method === 'renewSecret') this.#opened = undefined
            return done
          },
        })
    }
  }
  return HiloObject as unknown as HiloDatabaseClass<Env>
}

const databaseOf = (asked: Asked | undefined): string | undefined =>
  typeof asked === 'object' ? asked.database : asked

async function openIn({ storage }: ObjectState, options: HiloWorkerOptions): Promise<Opened> {
  const { create, secrets, ledgerLimits, handler } = checkWorkerOptions(options)
  const budgets = storedBudgets(runnerIn(storage))
  const store = openDurableStore(storage, { create, secrets }, budgets)
  const ledger = createLedger(store, ledgerLimits, new Map())
  // The clock is asked here: while a Worker's modules load, it is 1970.
  if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + PRUNE_INTERVAL_MS)
  return { ledger, handler: createHandler({ ...handler, ledger }, { ...PORTS, budgets }) }
}
