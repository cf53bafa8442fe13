/**
 * A database as a Durable Object: the whole handler and its ledger. Guarantees that an object
 * without a ledger makes none unless somebody says so, that it answers for its own database only,
 * that a program's mistake changes nothing, and that it prunes old rows by itself.
 */
import { DurableObject } from 'cloudflare:workers'
import { z } from 'zod'
import { createHandler, type Handler } from '../../http/handler.js'
import { answer } from '../../http/messages.js'
import {
  OPERATED,
  OPERATED_METHODS,
  type OperatedLedger,
  type OperatedMethod,
} from '../../http/operated.js'
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
import { checked } from '../../ledger/option-checks.js'
import { PRUNE_INTERVAL_MS, pruningAt } from '../../ledger/prune.js'
import type { ObjectState } from './cloudflare.js'
import { storedBudgets } from './kept-budgets.js'
import { type Owned, openDurableStore, runnerIn } from './object-store.js'
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
  owned: Owned
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

    /** An open ledger signs with its old secret, and so grants nothing from then on. */
    async #renewSecret(): Promise<void> {
      const { ledger, owned } = await this.#open()
      const { isRenewed } = owned
      const done = ledger.renewSecret()
      // By now it is written, or refused. Requests that wait in this ledger find another secret.
      owned.isRenewed = true
      await done.catch((error) => {
        owned.isRenewed = isRenewed
        throw error
      })
      this.#opened = undefined
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
          async value(this: HiloObject, asked?: unknown) {
            const told = argumentOf(method, asked, this.ctx.id.name)
            const wrong = this.#refusalOf(told.database)
            if (wrong !== undefined) throw new RangeError(wrong)
            const given = method === 'series' ? told.database : { ...told, at: Date.now() }
            if (method === 'renewSecret') return this.#renewSecret()
            return (await this.#ledger())[method](given as never)
          },
        })
    }
  }
  return HiloObject as unknown as HiloDatabaseClass<Env>
}

/**
 * A method that asks for a database alone need not name it: an object has one.
 * @throws RangeError
 */
function argumentOf(
  method: OperatedMethod,
  asked: unknown,
  own: string | undefined,
): { database: string } {
  const fields: z.ZodObject = OPERATED[method]
  const isPlain = Object.keys(fields.shape).length === 0
  const given = typeof asked === 'string' ? { database: asked } : asked
  const whole = isPlain ? { database: own, ...Object(given) } : given
  try {
    const told: object = checked(fields.extend({ database: z.string() }), whole, method)
    return told as { database: string }
  } catch (error) {
    throw new RangeError((error as Error).message)
  }
}

async function openIn({ id, storage }: ObjectState, options: HiloWorkerOptions): Promise<Opened> {
  const { create, secrets, ledgerLimits, handler } = checkWorkerOptions(options)
  const budgets = storedBudgets(runnerIn(storage))
  const owned: Owned = { budgets, database: id.name }
  const store = openDurableStore(storage, { create, secrets }, owned)
  const ledger = createLedger(store, ledgerLimits, new Map())
  // The clock is asked here: while a Worker's modules load, it is 1970.
  if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + PRUNE_INTERVAL_MS)
  return { ledger, owned, handler: createHandler({ ...handler, ledger }, { ...PORTS, budgets }) }
}
