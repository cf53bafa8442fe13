/**
 * The order desk's own server for tests, which can be stopped and started again at the same address
 * and on the same data.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Changes, Counts, Order } from '../../demo/records.js'
import { buildDesk } from '../../demo/server/build.js'
import { startDesk } from '../../demo/server/desk-server.js'
import { atFileEnd } from '../support/file-end.js'

export interface DeskServer {
  url: string
  /** Folder that it serves. */
  pages: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Every order of its table, oldest change first. */
  orders(): Promise<Order[]>
  counts(): Promise<Counts>
}

let built: Promise<string> | undefined

/** To be called inside a test; gone when the test ends. */
export async function openDeskServer(): Promise<DeskServer> {
  built ??= build()
  const folder = mkdtempSync(join(tmpdir(), 'order-desk-'))
  const pages = join(folder, 'pages')
  cpSync(await built, pages, { recursive: true })
  const start = (port = 0) => startDesk({ pages, database: { data: join(folder, 'data') }, port })
  let running = await start()
  const { url } = running
  onTestFinished(async () => {
    await running.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const get = async <T>(path: string): Promise<T> => (await fetch(url + path)).json() as Promise<T>
  return {
    url,
    pages,
    stop: () => running.close(),
    async start() {
      running = await start(Number(new URL(url).port))
    },
    async orders() {
      const orders: Order[] = []
      let changes: Changes = {
        orders: [],
        customers: [],
        since: 0,
        isAll: false,
        counts: {} as Counts,
      }
      while (!changes.isAll) {
        changes = await get(`/api/changes?since=${changes.since}`)
        orders.push(...changes.orders)
      }
      return orders
    },
    counts: () => get('/api/counts'),
  }
}

async function build(): Promise<string> {
  const pages = mkdtempSync(join(tmpdir(), 'order-desk-pages-'))
  atFileEnd(() => {
    built = undefined
    rmSync(pages, { recursive: true, force: true })
  })
  await buildDesk(pages)
  return pages
}
