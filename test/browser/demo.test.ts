/** What the order desk is for, in Chromium: orders get final ids, online and offline. */
import { expect, test } from 'vitest'
import { complaintsAbout } from './axe.js'
import { syncInBackground } from './chromium.js'
import { create, openDesk, seen, status, switchTo } from './desk-page.js'

test('online, an order gets its final id at once and reaches the table, customer too', async () => {
  const { page, table, counts } = await openDesk()
  await create(page, 'Harbour Café')
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await seen(page, 'orders/2-A', 'sent')
  expect((await table()).map(({ id, customer }) => [id, customer])).toEqual([
    ['orders/1-A', 'customers/1-A'],
    ['orders/2-A', 'customers/1-A'],
  ])
  expect(await counts()).toEqual({
    orders: { stored: 2, refused: 0, forged: 0, highest: 2 },
    customers: { stored: 1, refused: 0, forged: 0, highest: 1 },
  })
  await page.waitForSelector('[data-figure="distinct"] dd:text("2")')
})

test('offline by the switch, orders wait, survive a reload, and are sent once online', async () => {
  const { page, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.click('#switch')
  await status(page, 'Working offline')
  await create(page, 'North Market')
  await seen(page, 'orders/2-A', 'waiting')
  expect(await table()).toHaveLength(1)

  await page.reload()
  await seen(page, 'orders/2-A', 'waiting')
  await status(page, '1 order waits on this device')
  await create(page, 'North Market')
  await seen(page, 'orders/3-A', 'waiting')

  await page.click('#switch')
  await seen(page, 'orders/2-A', 'sent')
  await seen(page, 'orders/3-A', 'sent')
  expect((await table()).map(({ id }) => id)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
})

test('the smallest demo makes ids, and says when none is left', async () => {
  const { page, url, stop } = await openDesk()
  await page.goto(`${url}/demo/minimal/`)
  await page.click('#make')
  await page.waitForSelector('li:text("tickets/1-A")')
  await stop()
  for (let tickets = 2; tickets <= 100; tickets++) {
    await page.click('#make')
    await page.waitForSelector(`li:text("tickets/${tickets}-A")`)
  }
  await page.click('#make')
  await page.waitForSelector('[role="alert"]:text("Connect to the internet")')
  expect(await page.locator('li').count()).toBe(100)
})

test('after a visit the desk loads without its server, and its orders are sent later', async () => {
  const { page, context, url, stop, start, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
  await stop()
  await page.reload()
  await status(page, 'The server does not answer')
  await create(page, 'Harbour Café')
  await seen(page, 'orders/2-A', 'waiting')
  await page.close()
  await start()
  // Every tab is closed: the service worker sends.
  await syncInBackground(await context.newPage(), url, 'orders')
  await expect.poll(async () => (await table()).length, { timeout: 30_000 }).toBe(2)
})

test('receipts are consecutive, offline too; an open one is there after a crash', async () => {
  const { page } = await openDesk()
  const receipt = (id: string, state: string) =>
    page.waitForSelector(`.receipt[data-id="${id}"][data-state="${state}"]`)
  await page.click('#print')
  await receipt('A-000001', 'open')
  await page.click('.receipt[data-id="A-000001"] >> text=Confirm')
  await receipt('A-000001', 'confirmed')
  await switchTo(page, 'offline')
  await page.click('#print')
  await receipt('A-000002', 'open')
  await page.click('#kill-printing')
  await receipt('A-000002', 'open')
  await page.waitForSelector(
    '#receipts-summary:text("2 receipts, no number missing · 1 not confirmed")',
  )
})

test('who kills a tab sees at once what it lost, and nobody gets it', async () => {
  const { page } = await openDesk()
  await page.click('#ten')
  await seen(page, 'orders/10-A', 'sent')
  await page.click('#kill')
  await page.waitForSelector('#killed:text("numbers for orders")')
  expect(await page.evaluate(() => scrollY)).toBe(0)
  const lost = Number(/(\d+) numbers for orders/.exec((await page.textContent('#killed'))!)![1])
  await create(page, 'Harbour Café')
  const sent = page.locator('.order[data-state="sent"]')
  await sent.nth(10).waitFor()
  const ids = await sent.evaluateAll((all) => all.map((each) => (each as HTMLElement).dataset.id!))
  const highest = Math.max(...ids.map((id) => Number(/\d+/.exec(id)![0])))
  // On a busy machine, the answer to what the tab had just asked for was lost with it, too.
  expect(highest).toBeGreaterThanOrEqual(11 + lost)
})

test('on a phone, who starts a storm or forges an order sees the figures change', async () => {
  const { page } = await openDesk()
  await page.setViewportSize({ width: 390, height: 844 })
  const show = async (button: string, figure: string) => {
    await page.click(button)
    const box = (await page.locator(figure).boundingBox())!
    expect(box.y, figure).toBeGreaterThanOrEqual(0)
    expect(box.y + box.height, figure).toBeLessThanOrEqual(844)
  }
  await show('#storm', '#scoreboard')
  await page.waitForSelector('[data-figure="distinct"] dd:text("200")')
  await page.waitForSelector('#forge[aria-disabled="false"]')
  await show('#forge', '#scoreboard')
})

test('on a laptop, each of the four desks shows the orders that it made', async () => {
  const { page, url } = await openDesk()
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${url}/demo/four/`)
  const desks = page.mainFrame().childFrames()
  for (const desk of desks) await desk.click('#ten')
  for (const desk of desks) {
    await desk.locator('.order').nth(39).waitFor()
    // In one step of the page: while the list is drawn anew, its first order is nowhere.
    await desk.waitForFunction(() => {
      const { top } = frameElement!.getBoundingClientRect()
      const first = document.querySelector('.order')
      return first && top + first.getBoundingClientRect().bottom < parent.innerHeight
    })
  }
  const [desk] = desks
  await desk!.evaluate(() => document.querySelector<HTMLElement>('#storm')!.click())
  expect(await desk!.evaluate(() => scrollY), 'a storm leaves them in view').toBe(0)
})

test('what fails is told to the customer, and not in words for developers', async () => {
  const { page, stop } = await openDesk()
  await stop()
  const more = '[data-collection=orders]'
  await page.click(`${more} button`)
  await page.waitForSelector(`${more} .meter-problem:text("no more ids now")`)
  await page.evaluate(() => {
    const { transaction } = IDBDatabase.prototype
    IDBDatabase.prototype.transaction = function (...all) {
      if (this.name.startsWith('offline-hilo')) throw new DOMException('QUOTA')
      return transaction.apply(this, all)
    }
  })
  await page.click('#print')
  await page.waitForSelector('#receipts-problem:text("That did not work")')
  expect(await page.textContent('main')).not.toMatch(/QUOTA|HiLo server|http:/)
})

const LOOKS = [
  ['light', 1280, 800],
  ['light', 390, 844],
  ['dark', 1280, 800],
  ['dark', 320, 640],
] as const

/** @returns the controls that stick out of their card, and the buttons that are too narrow */
function sticksOut(): string[] {
  const right = (element: Element) => element.getBoundingClientRect().right
  const padding = (element: Element) => Number.parseFloat(getComputedStyle(element).paddingRight)
  const all = [...document.querySelectorAll<HTMLElement>('.card :is(button, select, input)')]
  return all
    .filter((control) => {
      const label = control.tagName === 'BUTTON' && control.querySelector('span')
      const isNarrow = label && right(label) > right(control) - padding(control)
      return isNarrow || right(control) > right(control.closest('.card')!)
    })
    .map(({ id, textContent }) => id || textContent)
}

test.each(LOOKS)(
  'axe finds nothing to complain of, and nothing is cut off: %s, %i pixels wide',
  async (colorScheme, width, height) => {
    const { page, url } = await openDesk()
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height })
    const look = async (at: string) => {
      expect(await complaintsAbout(page), at).toEqual([])
      const wide = () => document.documentElement.scrollWidth > document.documentElement.clientWidth
      expect(await page.evaluate(wide), at).toBe(false)
      expect(await page.evaluate(sticksOut), at).toEqual([])
    }
    await look('the empty desk')

    await page.click('#ten')
    await seen(page, 'orders/10-A', 'sent')
    await page.click('#forge')
    await seen(page, 'orders/10-A', 'refused')
    await page.click('#print')
    await page.waitForSelector('.receipt')
    await page.click('#inside summary')
    await page.waitForSelector('hilo-inspector')
    await look('orders')

    await page.click('.order[data-id="orders/9-A"] [name="edit"]')
    await page.waitForSelector('#editor[open]')
    await look('an order that is edited')
    await page.click('#editor-cancel')

    await switchTo(page, 'offline')
    await page.click('#storm')
    await page.waitForSelector('#problem-title:text("Only")')
    const shown = () => document.querySelector('#problem')!.getBoundingClientRect().top >= 0
    expect(await page.evaluate(shown)).toBe(true)
    expect(await page.textContent('#problem-text')).not.toMatch(/the form|the order/)
    await look('too few ids')
    await page.click('#outage')
    await page.waitForSelector('#outage[aria-pressed="true"]')
    await look('a lost server')
    await page.click('#outage')
    await page.waitForSelector('#outage[aria-pressed="false"]')
    await page.click('#kill')
    await page.waitForSelector('#killed:text("numbers for orders")')
    await look('a tab that was killed')

    for (const other of ['four', 'minimal', 'play']) {
      await page.goto(`${url}/demo/${other}/`)
      await page.waitForSelector('button:enabled')
      await look(other)
    }
  },
)
