/** `createHilo({ store })` in Node: the real server, and ranges in a SQLite file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type HiloServer, serve } from '../../../server/src/index.js'
import { sqliteStore } from '../../../src/addons/sqlite/index.js'
import { createHilo } from '../../../src/index.js'
import { DRIVERS } from './drivers.js'

const folder = mkdtempSync(join(tmpdir(), 'hilo-sqlite-app-'))
const [, open] = DRIVERS[0]!
let server: HiloServer

beforeAll(async () => {
  server = await serve({ create: true, port: 0, dataDir: join(folder, 'server') })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** An app on a device's file. */
function openApp(file: string) {
  const store = sqliteStore({ database: open(join(folder, file)) })
  const hilo = createHilo({ url: server.url, database: 'Shop', store })
  onTestFinished(() => hilo.close())
  return hilo
}

test('ids go on where the app stopped before, and the storage is called persistent', async () => {
  const first = openApp('till.db')
  expect(await first.nextIds('orders', 3)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
  expect(first.status().storage).toBe('persistent')
  await first.close()
  expect(await openApp('till.db').nextId('orders')).toBe('orders/4-A')
})

test('two apps on one file at once never make one id twice', async () => {
  const apps = [openApp('two.db'), openApp('two.db')]
  const made = await Promise.all(
    apps.flatMap((app) => Array.from({ length: 100 }, () => app.nextId('lines'))),
  )
  expect(new Set(made).size).toBe(200)
})

test('ids go on offline while the file has some', async () => {
  const app = openApp('offline.db')
  await app.reserve('visits', 100)
  await app.close()
  const later = openApp('offline.db')
  later.goOffline()
  expect(new Set(await later.nextIds('visits', 100)).size).toBe(100)
})

test('the end waits for a store that closes later, and does not fail where that does', async () => {
  const store = sqliteStore({ database: open(join(folder, 'later.db')) })
  let isClosed = false
  const hilo = createHilo({
    url: server.url,
    store: {
      isDurable: true,
      update: (...args) => store.update(...args),
      read: (key) => store.read(key),
      keys: () => store.keys(),
      async close() {
        await new Promise((resolve) => setImmediate(resolve))
        isClosed = true
        throw new Error('It was closed already.')
      },
    },
  })
  await hilo.nextId('orders')
  await hilo.close()
  expect(isClosed).toBe(true)
})

test('what is no store is refused by name', () => {
  expect(() => createHilo({ store: {} as never })).toThrow(/`options.store` has to be a store/)
})
