/** The recipes for other people's libraries, with the library itself, in Chromium. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newFolder } from '../processes/tills.js'
import { isInstalled, unlessInstalled } from '../support/peers.js'
import { type AppSiteOptions, openAppSite } from './app-site.js'
import { openBrowser, type TestPage } from './browser.js'
import { openHiloServer } from './hilo-server.js'
import { buildPage, DATABASES, type Library } from './libraries.js'

declare global {
  var shop: {
    addOrder(customer: string, products: string[]): Promise<string | number>
    linesOf(order: string | number): Promise<{ id: string; orderId: string; product: string }[]>
    /** Of Breeze. */
    manager?: { keyGenerator: { getTempKeys(): unknown[] } }
  }
}

/** PowerSync runs WebAssembly. */
const CSP = "script-src 'self' 'unsafe-eval'; worker-src 'self'"

const read = (file: string) =>
  readFileSync(join(import.meta.dirname, '../../examples', file), 'utf8')

async function openPage(library: Library, main: string, post?: AppSiteOptions['post']) {
  const names = [`${library.example}.js`, 'hilo.ts']
  const files = {
    ...Object.fromEntries(names.map((name) => [name, read(name)])),
    'main.ts': main,
  }
  const folder = await buildPage(newFolder(), library, files)
  const server = await openHiloServer()
  const site = await openAppSite({
    folder,
    backend: server.url,
    csp: CSP,
    ...(post && { post }),
  })
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url)
  return { page, server }
}

const titled = DATABASES.map(
  (each) => [each.peer.title + unlessInstalled(each.peer), each] as const,
)

describe.each(titled)('%s', (_, library) => {
  test.skipIf(!isInstalled(library.peer))(
    'an order and its lines have final ids from the first write on, also offline',
    async () => {
      const main = `globalThis.shop = await import('./${library.example}.js')`
      const { page, server } = await openPage(library, main)
      const online = await addOrder(page)
      await server.stop()
      const offline = await addOrder(page)
      for (const { id, lines } of [online, offline]) {
        expect(String(id)).toMatch(/^(orders[/.])?\d+([-.]A)?$/)
        expect(lines.map(({ orderId }) => orderId)).toEqual([id, id])
        expect(lines.map(({ product }) => product).sort()).toEqual(['milk', 'tea'])
      }
      const lineIds = [online, offline].flatMap(({ lines }) => lines.map((line) => line.id))
      expect(new Set(lineIds).size).toBe(4)
      expect(online.id).not.toEqual(offline.id)
    },
  )
})

const named = (example: string) => DATABASES.find((each) => each.example === example)!
const breeze = named('breeze')
const tanStack = named('tanstack-offline')

test.skipIf(!isInstalled(breeze.peer))(
  `Breeze takes none of the keys for a temporary one${unlessInstalled(breeze.peer)}`,
  async () => {
    const main = "globalThis.shop = await import('./breeze.js')"
    const { page } = await openPage(breeze, main)
    await addOrder(page)
    const temporary = await page.evaluate(() => shop.manager!.keyGenerator.getTempKeys())
    expect(temporary).toEqual([])
  },
)

test.skipIf(!isInstalled(tanStack.peer))(
  `TanStack DB sends an order again under the same ids${unlessInstalled(tanStack.peer)}`,
  async () => {
    const main = "globalThis.shop = await import('./tanstack-offline.js')"
    const sent: string[] = []
    const { page } = await openPage(tanStack, main, (body) => [sent.push(body) === 1 ? 500 : 201])
    const { id } = await addOrder(page)
    await expect.poll(() => sent.length, { timeout: 30_000 }).toBe(2)
    expect(sent[1]).toBe(sent[0])
    expect(JSON.parse(sent[0]!)[0]).toEqual({ id, customer: 'Ada' })
  },
)

test.skipIf(!isInstalled(tanStack.peer))(
  `TanStack DB rolls a refused order back, and sends the next one${unlessInstalled(tanStack.peer)}`,
  async () => {
    const main = "globalThis.shop = await import('./tanstack-offline.js')"
    const sent: string[] = []
    const { page } = await openPage(tanStack, main, (body) => [sent.push(body) === 1 ? 409 : 201])
    const [refused, next] = [await addOrder(page), await addOrder(page)]
    await expect.poll(() => sent.length, { timeout: 30_000 }).toBe(2)
    expect(sent.map((each) => JSON.parse(each)[0].id)).toEqual([refused.id, next.id])
  },
)

async function addOrder(page: TestPage) {
  await expect.poll(() => page.evaluate(() => 'shop' in globalThis), { timeout: 30_000 }).toBe(true)
  return page.evaluate(async () => {
    const id = await shop.addOrder('Ada', ['tea', 'milk'])
    return { id, lines: await shop.linesOf(id) }
  })
}
