/**
 * One Node process with everything in it: the page and the library (through Vite, so that the sources themselves run), the HiLo server,
 * and the desk's orders API, all on one origin and one SQLite file.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { createServer as createVite, type Plugin } from 'vite'
import { createHiloHandler, openLedger } from '../../src/server/index.js'
import { deskApi } from './desk-api.js'
import { openTables } from './tables.js'

export interface DeskOptions {
  /** Folder of the SQLite database. */
  data: string
  /** Default `127.0.0.1`: this machine only. */
  host?: string
  /** Default 0: any free one. */
  port?: number
}

export interface Desk {
  url: string
  close(): Promise<void>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function startDesk({ data, host = '127.0.0.1', port = 0 }: DeskOptions): Promise<Desk> {
  const ledger = await openLedger({ dataDir: data })
  const tables = openTables(join(data, 'hilo.db'))
  const hilo = createHiloHandler({ ledger })
  const app = new Hono().route('/', deskApi(tables)).all('*', (c) => hilo(c.req.raw))
  const answer = getRequestListener(app.fetch)

  const http = createServer()
  const vite = await createVite({
    root: ROOT,
    configFile: false,
    appType: 'mpa',
    logLevel: 'warn',
    resolve: { alias: { 'offline-hilo': join(ROOT, 'src/index.ts') } },
    plugins: [withoutViteClient()],
    // Every dependency of the page is one ES module already; pre-bundling would only reload the first visit.
    optimizeDeps: { noDiscovery: true, include: [] },
    server: {
      middlewareMode: true,
      // A page that reloads by itself when the server comes back would hide what the desk shows.
      hmr: false,
      ws: false,
      watch: { ignored: [resolve(data, '**')] },
      fs: { deny: ['.env', '.env.*', '**/.git/**', '*.{crt,pem,key}', '**/hilo-data/**', '*.db*'] },
    },
  })
  http.on('request', (request, response) => {
    if (/^\/(api|databases|topology)\b/.test(request.url!)) answer(request, response)
    else vite.middlewares(request, response)
  })

  const close = async () => {
    const closed = closeServer(http)
    http.closeAllConnections()
    await Promise.all([closed, vite.close()])
    tables.close()
    await ledger.close()
  }
  try {
    await listen(http, port, host)
  } catch (error) {
    await close()
    throw error
  }
  const { port: actual } = http.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`, close }
}

/** Vite's own client would only look for a socket that is not there. */
function withoutViteClient(): Plugin {
  const script = /<script type="module" src="\/@vite\/client"><\/script>\s*/
  return { name: 'without-vite-client', transformIndexHtml: { order: 'post', handler: (html) => html.replace(script, '') } }
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, () => {
      http.off('error', reject)
      resolve()
    })
  })
}

function closeServer(http: Server): Promise<void> {
  return new Promise((resolve) => http.close(() => resolve()))
}
