/**
 * What people do with the order desk, in every engine: offline after one visit, edits and
 * conflicts, storms, kills, and a server that goes away.
 */
import { describe, expect, test } from 'vitest'
import { openBrowser, type TestPage } from './browser.js'
import { type DeskServer, openDeskServer } from './desk.js'
import { testedEngines } from './engines.js'

const engines = testedEngines().map((engine) => [engine.title, engine] as const)

/** A busy machine may take its time. */
const PATIENCE = { timeout: 30_000 }

/** The desk in one page, by what is on the screen. */
function deskIn(page: TestPage) {
  const look = <A>(run: (arg: A) => unknown, arg: A) =>
    expect.poll(() => page.evaluate(run, arg), PATIENCE)
  const desk = {
    async open(url: string) {
      await page.goto(url)
      await desk.isReady()
    },
    async isReady() {
      await look(
        () => document.querySelector('#orders')?.getAttribute('aria-busy'),
        undefined,
      ).toBe('false')
    },
    click: (selector: string) =>
      page.evaluate((to) => document.querySelector<HTMLElement>(to)!.click(), selector),
    async create(customer: string, quantity = 1) {
      await page.evaluate(
        ([name, count]) => {
          document.querySelector<HTMLInputElement>('#customer')!.value = name
          document.querySelector<HTMLInputElement>('#quantity')!.value = count
          document.querySelector<HTMLFormElement>('#new-order')!.requestSubmit()
        },
        [customer, String(quantity)] as const,
      )
      await look(
        () => document.querySelector<HTMLInputElement>('#customer')!.value,
        undefined,
      ).toBe('')
    },
    /** Waits until the order stands like that. */
    see: (id: string, state: string) =>
      look(
        (order) => document.querySelector<HTMLElement>(`.order[data-id="${order}"]`)?.dataset.state,
        id,
      ).toBe(state),
    seeCount: (count: number, state: string) =>
      look(
        (wanted) => document.querySelectorAll(`.order[data-state="${wanted}"]`).length,
        state,
      ).toBe(count),
    status: (text: string) =>
      look(() => document.querySelector('#status')!.textContent, undefined).toContain(text),
    text: (selector: string) =>
      page.evaluate((to) => document.querySelector(to)!.textContent, selector),
    figures: () =>
      page.evaluate(() =>
        Object.fromEntries(
          [...document.querySelectorAll<HTMLElement>('[data-figure]')].map((each) => [
            each.dataset.figure,
            each.querySelector('dd')!.textContent,
          ]),
        ),
      ),
    act: (id: string, name: string) => desk.click(`.order[data-id="${id}"] button[name="${name}"]`),
    /** Changes the quantity of the order's first line, and adds lines. */
    async edit(id: string, quantity: number, more = 0) {
      await desk.act(id, 'edit')
      for (let i = 0; i < more; i++) await desk.click('#editor-add')
      await page.evaluate((count) => {
        document.querySelector<HTMLInputElement>('.line input')!.value = count
      }, String(quantity))
      await desk.click('#editor [type="submit"]')
    },
  }
  return desk
}

/** Of each order's first line, as the server has them. */
const quantities = async (server: DeskServer) =>
  Object.fromEntries((await server.orders()).map(({ id, lines }) => [id, lines[0]!.quantity]))

const allDistinct = async (server: DeskServer) => {
  const ids = (await server.orders()).map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  return ids.length
}

describe.each(engines)('in %s', (_, { name, hasLastingProfile }) => {
  test('orders made and edited offline name each other by final ids, and are sent so', async () => {
    const server = await openDeskServer()
    const page = await (await openBrowser(name)).newPage()
    const desk = deskIn(page)
    await desk.open(server.url)
    await desk.create('Harbour Café')
    await desk.see('orders/1-A', 'sent')
    await desk.click('#switch')
    await desk.status('Working offline')
    await desk.create('North Market', 2)
    await desk.see('orders/2-A', 'waiting')
    await desk.act('orders/2-A', 'repeat')
    expect(await desk.text('#repeat-id')).toBe('orders/2-A')
    await desk.create('North Market', 5)
    await desk.see('orders/3-A', 'waiting')
    await desk.edit('orders/1-A', 7, 2)
    await desk.see('orders/1-A', 'waiting')
    expect(await server.orders()).toHaveLength(1)
    // Nobody has a newer version to offer.
    expect(await page.evaluate(() => document.querySelector<HTMLElement>('#update')!.hidden)).toBe(
      true,
    )

    await desk.click('#switch')
    await desk.seeCount(3, 'sent')
    const orders = Object.fromEntries((await server.orders()).map((order) => [order.id, order]))
    expect(orders['orders/1-A']).toMatchObject({
      customer: 'customers/1-A',
      version: 2,
      lines: [{ quantity: 7 }, {}, {}],
    })
    expect(orders['orders/3-A']).toMatchObject({
      customer: 'customers/2-A',
      follows: 'orders/2-A',
      lines: [{ quantity: 5 }],
    })
  })

  test.runIf(hasLastingProfile)(
    'after one visit the desk loads without its server, and makes orders',
    async () => {
      const server = await openDeskServer()
      const page = await (await openBrowser(name)).newPage()
      const desk = deskIn(page)
      await desk.open(server.url)
      await desk.create('Harbour Café')
      await desk.see('orders/1-A', 'sent')
      await expect
        .poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null), PATIENCE)
        .toBe(true)
      await server.stop()
      await page.reload()
      await desk.isReady()
      await desk.status('The server does not answer')
      await desk.create('Harbour Café')
      await desk.see('orders/2-A', 'waiting')
      await server.start()
      await desk.see('orders/2-A', 'sent')
      expect(await allDistinct(server)).toBe(2)
    },
  )

  test('two browsers edit one order: the second user is asked and decides', async () => {
    const server = await openDeskServer()
    const [first, second] = [
      deskIn(await (await openBrowser(name)).newPage()),
      deskIn(await (await openBrowser('chromium')).newPage()),
    ]
    await first.open(server.url)
    await first.create('Harbour Café')
    await first.create('Harbour Café')
    await first.seeCount(2, 'sent')
    await second.open(server.url)
    await second.seeCount(2, 'sent')
    await second.click('#switch')
    await second.status('Working offline')
    await second.edit('orders/1-A', 8)
    await second.edit('orders/2-A', 9)
    await first.edit('orders/1-A', 3)
    await first.edit('orders/2-A', 4)
    await expect
      .poll(() => quantities(server), PATIENCE)
      .toEqual({ 'orders/1-A': 3, 'orders/2-A': 4 })
    await second.click('#switch')
    await second.seeCount(2, 'conflict')
    expect(await second.text('.order[data-id="orders/1-A"] .order-reason')).toContain('3 ×')
    await second.act('orders/1-A', 'mine')
    await second.act('orders/2-A', 'theirs')
    await second.seeCount(2, 'sent')
    expect(await quantities(server)).toEqual({ 'orders/1-A': 8, 'orders/2-A': 4 })
    await expect
      .poll(() => first.text('.order[data-id="orders/1-A"] .order-lines'), PATIENCE)
      .toContain('8 ×')
  })

  test('four desks storm, one is killed: the table has every order, and no duplicate', async () => {
    const server = await openDeskServer()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(server.url)
    const isEmpty = () =>
      page.evaluate(() => !document.querySelector<HTMLElement>('#orders-empty')!.hidden)
    await expect.poll(isEmpty, PATIENCE).toBe(true)
    // The page may be gone before the click has ended.
    await page
      .evaluate(() => document.querySelector<HTMLElement>('#first-four')!.click())
      .catch(() => {})
    const areReady = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('iframe')].map(
          (frame) =>
            frame.contentDocument?.querySelector('#orders')?.getAttribute('aria-busy') === 'false',
        ),
      )
    await expect.poll(areReady, PATIENCE).toEqual([true, true, true, true])
    await page.evaluate(() => document.querySelector<HTMLElement>('#storm-all')!.click())
    await expect
      .poll(async () => (await server.counts()).orders.stored, PATIENCE)
      .toBeGreaterThanOrEqual(200)
    await page.evaluate(() => document.querySelector<HTMLElement>('#kill-one')!.click())
    await expect.poll(areReady, PATIENCE).toEqual([true, true, true, true])
    await page.evaluate(() => document.querySelector<HTMLElement>('#storm-all')!.click())
    await expect
      .poll(async () => (await server.counts()).orders.stored, { timeout: 60_000 })
      .toBeGreaterThanOrEqual(1_400)
    expect((await server.counts()).orders.refused).toBe(0)
    await allDistinct(server)
    await expect
      .poll(
        () =>
          page.evaluate(
            () => document.querySelector('#scoreboard [data-figure="duplicates"] dd')!.textContent,
          ),
        PATIENCE,
      )
      .toBe('0')
  })

  test('after a storm, a kill and an outage every order is there, and gaps are small', async () => {
    const server = await openDeskServer()
    const page = await (await openBrowser(name)).newPage()
    const desk = deskIn(page)
    await desk.open(server.url)
    await desk.click('#storm')
    await desk.status('Every order is in the server’s table')
    await expect
      .poll(desk.figures, PATIENCE)
      .toEqual({ issued: '200', distinct: '200', duplicates: '0', gaps: '0' })
    await desk.click('#inside summary')
    const inside = () =>
      page.evaluate(() => document.querySelector('hilo-inspector')?.shadowRoot?.textContent ?? '')
    await expect.poll(inside, PATIENCE).toContain('orders')

    await page.evaluate(() => void Object.assign(window, { isTheOldPage: true }))
    // The page may be gone before the click has ended.
    await desk.click('#kill').catch(() => {})
    await expect
      .poll(() => page.evaluate(() => 'isTheOldPage' in window).catch(() => true), PATIENCE)
      .toBe(false)
    await desk.isReady()
    await desk.click('#outage')
    await desk.status('The server does not answer')
    await desk.create('Harbour Café')
    await desk.seeCount(1, 'waiting')
    await desk.click('#outage')
    await desk.status('Every order is in the server’s table')
    const { orders } = await server.counts()
    expect(orders).toMatchObject({ stored: 201, refused: 0 })
    // H3: a killed page loses at most four times what it issued in its last second.
    expect(orders.highest - orders.stored).toBeLessThanOrEqual(4 * orders.stored)
  })
})
