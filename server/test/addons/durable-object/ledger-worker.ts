/**
 * A Worker whose objects are ledgers without the handler, for the contract of every ledger. A
 * request names a method and its arguments.
 */
import { DurableObject } from 'cloudflare:workers'
import type {
  ObjectNamespace,
  ObjectStorage,
} from '../../../src/addons/durable-object/cloudflare.js'
import { openDurableStore } from '../../../src/addons/durable-object/object-store.js'
import { createLedger } from '../../../src/ledger/create-ledger.js'
import type { Ledger, LedgerLimits } from '../../../src/ledger/ledger.js'

export interface LedgerCall {
  /** Of the storage. */
  name: string
  /** Which of the ledgers that were opened on it. */
  ledger: number
  /** `open`, `secret`, `sql`, `counts`, or a method of the ledger. */
  method: string
  args: unknown[]
}

interface Cursor extends Iterable<unknown> {
  rowsWritten: number
  rowsRead: number
}

type Method = (...args: unknown[]) => unknown

export class LedgerObject extends DurableObject<unknown> {
  readonly #ledgers: Ledger[] = []
  #heard: string[] = []
  /** Rows, as Cloudflare's bill counts them, and transactions. */
  readonly #counts = { written: 0, read: 0, commits: 0 }

  async fetch(request: Request): Promise<Response> {
    const { ledger, method, args } = (await request.json()) as LedgerCall
    this.#heard = []
    try {
      const result = await this.#run(ledger, method, args)
      return Response.json({ result, heard: this.#heard })
    } catch (error) {
      const { name, message } = error as Error
      return Response.json({ error: { name, message }, heard: this.#heard })
    }
  }

  #run(ledger: number, method: string, args: unknown[]): unknown {
    if (method === 'open') return this.#openLedger(args[0] as LedgerLimits)
    if (method === 'secret')
      return [...this.ctx.storage.sql.exec("SELECT value FROM hilo_meta WHERE key = 'secret'")][0]
    if (method === 'counts') return this.#counts
    if (method === 'sql') return [...this.ctx.storage.sql.exec(args[0] as string)]
    const found = this.#ledgers[ledger] as unknown as Record<string, Method>
    return found[method]!(...args)
  }

  #openLedger(limits: LedgerLimits): number {
    const opened = createLedger(
      openDurableStore(this.#counted(), { create: true }),
      limits,
      new Map(),
    )
    opened.onRestored((database) => this.#heard.push(database))
    return this.#ledgers.push(opened) - 1
  }

  #counted(): ObjectStorage {
    const { storage } = this.ctx
    return {
      transactionSync: (step) => {
        this.#counts.commits++
        return storage.transactionSync(step)
      },
      sync: () => storage.sync(),
      getAlarm: () => storage.getAlarm(),
      setAlarm: (at) => storage.setAlarm(at),
      sql: {
        exec: (text, ...parameters) => {
          const cursor = storage.sql.exec(text, ...parameters) as Cursor
          const rows = [...cursor]
          this.#counts.written += cursor.rowsWritten
          this.#counts.read += cursor.rowsRead
          return rows
        },
      },
    }
  }
}

export default {
  async fetch(
    request: Request,
    { HILO }: { HILO: ObjectNamespace<{ fetch(request: Request): Promise<Response> }> },
  ): Promise<Response> {
    const { name } = (await request.clone().json()) as LedgerCall
    return HILO.get(HILO.idFromName(name)).fetch(request)
  },
}
