/** The recipes in `examples/`, in Chromium, with the real server behind them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../addons/consecutive/auditor.js'
import { openAppSite, STRICT_CSP } from './app-site.js'
import { openBrowser, type TestPage } from './browser.js'
import type { Examples } from './examples/page.js'
import { openHiloServer } from './hilo-server.js'

declare global {
  var examples: Examples
}

const folder = mkdtempSync(join(tmpdir(), 'hilo-examples-'))

beforeAll(async () => {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
  await build({
    configFile: false,
    root: path('examples'),
    logLevel: 'error',
    resolve: { tsconfigPaths: true },
    build: {
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: {
        input: {
          index: path('examples/index.html'),
          'service-worker': path('../../examples/service-worker.ts'),
        },
        output: { entryFileNames: '[name].js' },
      },
    },
    worker: { format: 'es' },
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type AnswerTo = (order: string) => [status: number, refusal?: object]

async function openExamples(answerOrder: AnswerTo = () => [201], csp = STRICT_CSP) {
  const server = await openHiloServer()
  const site = await openAppSite({
    folder,
    backend: server.url,
    csp,
    post: answerOrder,
  })
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url)
  return { page, server, site }
}

test.each(['dexie', 'idb', 'tanStackDb'] as const)(
  '%s: an order and its lines have final ids from the first write on, also offline',
  async (name) => {
    const { page, server } = await openExamples()
    const online = await addOrder(page, name)
    await server.stop()
    const offline = await addOrder(page, name)
    for (const { id, lines } of [online, offline]) {
      expect(id).toMatch(/^orders\/\d+-A$/)
      expect(lines.map(({ orderId }) => orderId)).toEqual([id, id])
      expect(lines.map(({ product }) => product).sort()).toEqual(['milk', 'tea'])
    }
    const all = [online, offline].flatMap(({ id, lines }) => [id, ...lines.map((line) => line.id)])
    expect(new Set(all).size).toBe(6)
  },
)

/** The shop's midnight is never between two steps. */
function stopClock(): void {
  const noon = new Date().setUTCHours(15, 0, 0, 0)
  globalThis.Date = new Proxy(Date, {
    construct: (RealDate, given) => Reflect.construct(RealDate, given.length > 0 ? given : [noon]),
  })
}

test('a day in a shop: from the opening to what the auditor reads, through a crash', async () => {
  const { page, server, site } = await openExamples()
  await page.evaluate(stopClock)
  const day = await page.evaluate(async () => {
    const { open, sell } = await examples.shopDay()
    await open('anna')
    const { day } = await sell('sale 1', '12.35', 'anna')
    // The page goes between the number and the receipt.
    const setItem = Storage.prototype.setItem
    Storage.prototype.setItem = function (key, value) {
      if (key.startsWith('A-')) throw new Error('a power cut')
      setItem.call(this, key, value)
    }
    await sell('sale 2', '5.00', 'anna').catch(() => {})
    return day
  })
  const id = (number: number) => `A-${day}-00000${number}`
  await page.goto(site.url)
  await page.evaluate(stopClock)
  expect(await page.evaluate(async () => (await examples.shopDay()).open('bert'))).toEqual([id(2)])
  await server.stop()
  const { corrected, slip, again, text } = await page.evaluate(async (day) => {
    const { sell, correct, close, exported } = await examples.shopDay()
    await sell('sale 3', '7.00', 'bert')
    const corrected = await correct('sale 3', '7.50', 'bert')
    const slip = await close(day, { total: '19.85' }, 'bert')
    const again = await sell('sale 4', '1.00', 'bert').catch(({ message }) => message)
    return { corrected, slip, again, text: await exported() }
  }, day)
  const of = { first: id(1), last: id(4), sums: { total: '19.85' }, by: 'bert' }
  expect(slip.closing).toEqual({ count: 4, open: 0, ...of })
  expect(slip.broken).toEqual([])
  expect(again).toContain(`the period ${day} was closed after ${corrected}`)
  const lines = text.split('\n').filter((line) => line.includes('"record":"number"'))
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { id: id(1), state: 'confirmed', takenBy: 'anna' },
    { id: id(2), state: 'cancelled', takenBy: 'anna', by: 'bert' },
    { id: id(3), state: 'voided', ref: corrected },
    { id: corrected, state: 'confirmed', heard: false },
  ])
  expect(audit(text, [slip.last])).toEqual([])
})

function addOrder(page: TestPage, name: 'dexie' | 'idb' | 'tanStackDb') {
  return page.evaluate(async (name) => {
    const { addOrder, linesOf } = await examples[name]()
    const id = await addOrder('Ada', ['tea', 'milk'])
    const lines = await linesOf(id)
    return { id, lines: lines.map(({ id, orderId, product }) => ({ id, orderId, product })) }
  }, name)
}

test('React: the component is rendered anew when an id is made', async () => {
  const { page } = await openExamples()
  await page.evaluate(() => examples.react())
  const text = () => page.evaluate(() => document.querySelector('#react')!.textContent)
  const left = async () => Number(/(\d+) ids left/.exec((await text()) ?? '')?.[1])
  await expect.poll(left, { timeout: 20_000 }).toBe(200)
  await page.evaluate(() => document.querySelector<HTMLButtonElement>('#react button')!.click())
  await expect.poll(text, { timeout: 20_000 }).toMatch(/orders\/\d+-A/)
  await expect.poll(left, { timeout: 20_000 }).toBe(199)
})

test.each(['vue', 'svelte'] as const)(
  '%s: the status follows the ids that are made, until nobody looks any more',
  async (name) => {
    const { page } = await openExamples()
    const { available, afterTheEnd } = await page.evaluate((name) => examples[name](), name)
    expect(available.at(-1)).toBe(available[0]! - 1)
    expect(afterTheEnd).toBe(0)
  },
)

test('Background Sync: the service worker gives a draft its id, and a retry keeps it', async () => {
  const answers = [500, 201, 201]
  const orders: string[] = []
  const { page } = await openExamples((order) => {
    orders.push(order)
    return [answers[orders.length - 1] ?? 201]
  })
  const addDraft = (customer: string) =>
    page.evaluate(async (customer) => (await examples.serviceWorker()).addOrder(customer), customer)
  await page.evaluate(() =>
    navigator.serviceWorker.register('service-worker.js', { type: 'module' }),
  )
  await addDraft('Ada')
  await expect.poll(() => orders.length, { timeout: 30_000 }).toBe(1)
  await addDraft('Grace')
  // Chromium itself would try again in five minutes.
  await page.syncInBackground!('orders')
  await expect.poll(() => orders.length, { timeout: 30_000 }).toBe(3)
  const [ada, adaAgain, grace] = orders.map((order) => JSON.parse(order))
  expect(ada).toEqual({ id: expect.stringMatching(/^orders\/\d+-A$/), customer: 'Ada' })
  expect(adaAgain).toEqual(ada)
  expect(grace.customer).toBe('Grace')
  expect(grace.id).not.toBe(ada.id)
})

test('Background Sync: a refused draft is set aside, and the others are sent', async () => {
  const customers: string[] = []
  const { page } = await openExamples((order) => {
    const { customer } = JSON.parse(order)
    customers.push(customer)
    return customer === 'Ada' ? [409, { refused: 'Another order has this id.' }] : [201]
  })
  await page.evaluate(async () => {
    const { addOrder } = await examples.serviceWorker()
    const adding = ['Ada', 'Grace'].map(addOrder)
    await navigator.serviceWorker.register('service-worker.js', { type: 'module' })
    await Promise.all(adding)
  })
  await expect.poll(() => customers, { timeout: 30_000 }).toContain('Grace')
  await page.syncInBackground!('orders')
  await page.evaluate(async () => (await examples.serviceWorker()).addOrder('Linus'))
  await expect.poll(() => customers, { timeout: 30_000 }).toContain('Linus')
  expect(customers).toEqual(['Ada', 'Grace', 'Linus'])
})

test('Background Sync: a draft that makes the API fail does not hold up the others', async () => {
  const customers: string[] = []
  const { page } = await openExamples((order) => {
    const { customer } = JSON.parse(order)
    customers.push(customer)
    return [customer === 'Ada' ? 500 : 201]
  })
  await page.evaluate(async () => {
    const { addOrder } = await examples.serviceWorker()
    const adding = ['Ada', 'Grace'].map(addOrder)
    await navigator.serviceWorker.register('service-worker.js', { type: 'module' })
    await Promise.all(adding)
  })
  await expect.poll(() => customers, { timeout: 30_000 }).toContain('Grace')
  expect(customers[0]).toBe('Ada')
})

test('Background Sync: a draft is stored once, too, where no service worker is', async () => {
  const { page } = await openExamples()
  const names = await page.evaluate(async () => {
    const { addOrder } = await examples.serviceWorker()
    const { opening } = await examples.drafts()
    await addOrder('Ada')
    // As by plain http.
    Object.defineProperty(navigator, 'serviceWorker', { value: undefined })
    await addOrder('Grace')
    return (await (await opening).getAll('drafts')).map(({ customer }) => customer)
  })
  expect(names).toEqual(['Ada', 'Grace'])
})

test('an app in a worker makes its ids there', async () => {
  const { page } = await openExamples()
  expect(await page.evaluate(() => examples.webWorker([3, 1, 4]))).toEqual([
    { id: 'readings/1-A', value: 3 },
    { id: 'readings/2-A', value: 1 },
    { id: 'readings/3-A', value: 4 },
  ])
})

test('so does one whose worker was made from a blob, as by `?worker&inline` of Vite', async () => {
  const { page, site } = await openExamples(undefined, "worker-src 'self' blob:")
  await page.evaluate(() => examples.webWorker([3]))
  const values = await page.evaluate((path) => {
    const code = `import '${location.origin}${path}'`
    const blob = new Blob([code], { type: 'text/javascript' })
    const worker = new Worker(URL.createObjectURL(blob), { type: 'module' })
    worker.postMessage([1])
    return new Promise<unknown>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
    })
  }, site.workers[0])
  expect(values).toEqual([{ id: expect.stringMatching(/^readings\/\d+-A$/), value: 1 }])
})
