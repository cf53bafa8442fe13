/**
 * One Node process with everything in it: the desk's pages, the HiLo server, and the desk's orders
 * API, all on one origin and in one database. It can stop answering for a while, so that the pages
 * show what they do then.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { csrf } from 'hono/csrf'
import { secureHeaders } from 'hono/secure-headers'
import { createHiloHandler, openLedger } from '../../server/src/index.js'
import { deskApi } from './desk-api.js'
import { openSql } from './sql.js'
import { openTables } from './tables.js'

export interface DeskOptions {
  /** Folder with the pages, from `buildDesk`. */
  pages: string
  /** A `postgres://` URL, or the folder of the SQLite database. */
  database: { databaseUrl: string } | { data: string }
  /** Default `127.0.0.1`: this machine only. */
  host?: string
  /** Everybody who reaches the address may use it. Default: this machine only. */
  open?: boolean | undefined
  /** Default 0: any free one. */
  port?: number
}

export interface Desk {
  url: string
  close(): Promise<void>
}

const OUTAGE_PATH = '/outage'
const LONGEST_OUTAGE_MS = 60_000

export async function startDesk({
  pages,
  database,
  host = '127.0.0.1',
  open = false,
  port = 0,
}: DeskOptions): Promise<Desk> {
  const ledger = await openLedger({
    create: true,
    ...('data' in database ? { dataDir: database.data } : database),
  })
  const sql = openSql(database)
  const close = async () => {
    await sql.close()
    await ledger.close()
  }
  const outage = new Outage()
  const http = createServer()
  try {
    const hilo = createHiloHandler({ ledger, host, open })
    const app = new Hono()
      .route('/', deskApi(await openTables(sql)))
      .route('/', outage.api())
      .all('/databases/*', (c) => hilo(c.req.raw))
      .all('/topology', (c) => hilo(c.req.raw))
      .use(pageHeaders(), serveStatic({ root: pages }))
    const answer = getRequestListener(app.fetch)
    http.on('request', (request, response) => {
      if (outage.isOn && request.url !== OUTAGE_PATH) request.socket.destroy()
      else answer(request, response)
    })
    await listen(http, port, host)
  } catch (error) {
    await close()
    throw error
  }
  const { port: actual } = http.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    async close() {
      const closed = new Promise((resolve) => http.close(resolve))
      http.closeAllConnections()
      await closed
      await close()
    },
  }
}

/** While it is on, every connection is cut, except for the request that ends it. */
class Outage {
  #endsAt = 0

  get isOn(): boolean {
    return Date.now() < this.#endsAt
  }

  api(): Hono {
    return new Hono()
      .use(OUTAGE_PATH, csrf())
      .get(OUTAGE_PATH, (c) => c.json({ isOn: this.isOn }))
      .post(OUTAGE_PATH, (c) => {
        this.#endsAt = Date.now() + LONGEST_OUTAGE_MS
        return c.json({ isOn: true })
      })
      .delete(OUTAGE_PATH, (c) => {
        this.#endsAt = 0
        return c.json({ isOn: false })
      })
  }
}

const pageHeaders = () =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      frameAncestors: ["'self'"],
    },
    crossOriginResourcePolicy: 'same-origin',
    xFrameOptions: 'SAMEORIGIN',
    strictTransportSecurity: false,
  })

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, () => {
      http.off('error', reject)
      resolve()
    })
  })
}
