/**
 * The inspector in real browsers: what it shows of a device and its tabs, what can be done with it,
 * and that everybody can.
 */
import axe from 'axe-core'
import { expect, test } from 'vitest'
import type { HiloOptions } from '../../src/index.js'
import { openBrowser, type TestPage } from './browser.js'
import { testedEngines } from './engines.js'
import { openSite, type Site } from './site.js'

/** A busy machine may take its time. */
const PATIENCE = { timeout: 30_000 }

const OPTIONS: HiloOptions = { collections: { orders: { reserve: 100 } } }

const address = (site: Site, options = OPTIONS) =>
  site.url(options).replace('/?', '/inspector.html?')

async function open() {
  const site = await openSite()
  const browser = await openBrowser('chromium')
  const page = await browser.newPage()
  await page.goto(address(site))
  await look(page)
  return { site, browser, page }
}

/** Gives the inspector its instance, and waits until it shows numbers. */
async function look(page: TestPage): Promise<void> {
  await page.evaluate(() => {
    document.querySelector('hilo-inspector')!.hilo = window.hilo
    return window.hilo.ready
  })
  await expect
    .poll(() => page.evaluate(() => window.inspected.pieces().length), PATIENCE)
    .toBeGreaterThan(0)
}

const nextIds = (count: number) => window.hilo.nextIds('orders', count)
const pieces = (page: TestPage) => page.evaluate(() => window.inspected.pieces())
const texts = (page: TestPage, selector: string) =>
  page.evaluate((of) => window.inspected.texts(of), selector)
const click = (page: TestPage, button: string) =>
  page.evaluate((name) => window.inspected.button(name).click(), button)

/** What axe finds wrong, as `rule: selector`. */
async function violations(page: TestPage): Promise<string[]> {
  return page.evaluate(async (source) => {
    if (!('axe' in window))
      document.head.append(Object.assign(document.createElement('script'), { textContent: source }))
    const { run } = (window as unknown as { axe: typeof axe }).axe
    const { violations } = await run('hilo-inspector', {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    )
  }, axe.source)
}

test.each(testedEngines())(
  'in $title, without an instance it says what to do; with one it draws the numbers',
  async ({ name }) => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(address(site))
    await page.evaluate(() => {
      const errors: string[] = []
      addEventListener('error', ({ message }) => errors.push(message))
      Object.assign(window, { errors })
    })
    expect(await texts(page, '.inspector > div:not([hidden])')).toEqual([
      expect.stringContaining('.hilo = hilo'),
    ])
    await look(page)
    await page.evaluate(nextIds, 5)
    await expect.poll(async () => (await pieces(page))[0], PATIENCE).toBe('1–5: 5 numbers, issued')
    const [, mine, ...others] = await pieces(page)
    expect(mine).toMatch(/^6–\d+: \d+ numbers, leased to this page$/)
    expect(others.join('\n')).toMatch(/ numbers, granted/)
    expect(await texts(page, '.chip')).toEqual(['● Ready'])
    expect(await texts(page, 'dd')).toEqual([
      '● Online',
      'best effort: may be evicted',
      expect.stringMatching(/^[0-9a-f]{4}$/),
    ])

    // To scale: each piece as wide as its share of all numbers.
    const drawn = await page.evaluate(() =>
      window.inspected.all('.piece').map((piece) => {
        const [from, to] = piece
          .ariaLabel!.split(':')[0]!
          .replaceAll(',', '')
          .split('–')
          .map(Number) as [number, number]
        return { size: to - from + 1, width: piece.getBoundingClientRect().width }
      }),
    )
    const [size, width] = [
      drawn.reduce((sum, each) => sum + each.size, 0),
      drawn.reduce((sum, each) => sum + each.width, 0),
    ]
    for (const each of drawn) expect(each.width / width).toBeCloseTo(each.size / size, 2)

    // Dev servers lay an error of the page over all of it.
    expect(await page.evaluate(() => (window as unknown as { errors: string[] }).errors)).toEqual(
      [],
    )
  },
)

test('the number line is read and zoomed by keys, buttons and wheel', async () => {
  const { page } = await open()
  await page.evaluate(nextIds, 5)
  await expect.poll(async () => (await pieces(page))[0], PATIENCE).toContain('issued')
  const all = await pieces(page)
  const width = () =>
    page.evaluate(() => window.inspected.all('.piece')[0]!.getBoundingClientRect().width)
  expect(
    await page.evaluate(
      () => window.inspected.all('.piece').filter((piece) => piece.tabIndex === 0).length,
    ),
  ).toBe(1)
  await page.evaluate(() => window.inspected.all('.piece')[0]!.focus())
  expect(await texts(page, '.detail')).toEqual([all[0]])
  await page.evaluate(() => window.inspected.press('ArrowRight'))
  expect(await page.evaluate(() => window.inspected.focused())).toBe(all[1])
  expect(await texts(page, '.detail')).toEqual([all[1]])
  await page.evaluate(() => window.inspected.press('End'))
  expect(await page.evaluate(() => window.inspected.focused())).toBe(all.at(-1))
  await page.evaluate(() => window.inspected.press('Home'))

  const before = await width()
  await page.evaluate(() => window.inspected.press('+'))
  expect(await width()).toBeGreaterThan(before * 1.5)
  expect(await page.evaluate(() => window.inspected.focused())).toBe(all[0])
  await page.evaluate(() => window.inspected.press('End'))
  expect(await page.evaluate(() => window.inspected.focused())).toBe(all.at(-1))
  await page.evaluate(() => window.inspected.press('0'))
  expect(await width()).toBeCloseTo(before, 0)
  await click(page, 'Zoom into orders')
  await click(page, 'Zoom out of orders')
  expect(await width()).toBeCloseTo(before, 0)
  const isTaken = await page.evaluate(() => {
    const [track] = window.inspected.all('.track')
    return !track!.dispatchEvent(
      new WheelEvent('wheel', {
        deltaY: -50,
        ctrlKey: true,
        clientX: track!.getBoundingClientRect().left,
        cancelable: true,
      }),
    )
  })
  expect(isTaken).toBe(true)
  expect(await width()).toBeGreaterThan(before * 1.5)
  await click(page, 'All of orders')
  // A wheel that scrolls the page does not zoom.
  const isLeft = await page.evaluate(() => {
    document.getElementById('own')!.focus()
    return window.inspected
      .all('.track')[0]!
      .dispatchEvent(new WheelEvent('wheel', { deltaY: -50, cancelable: true }))
  })
  expect(isLeft).toBe(true)
  expect(await width()).toBeCloseTo(before, 0)
  await page.evaluate(() => window.inspected.all('.piece')[0]!.click())
  expect(await width()).toBeGreaterThan(before)
})

test('a developer tops up, reserves, goes offline, sees an error, gives all back', async () => {
  const { site, page } = await open()
  expect((await texts(page, '.problem')).join()).not.toContain('undefined')
  const left = async () =>
    Number(/^([\d,]+)/.exec((await texts(page, '.meter span'))[0]!)![1]!.replace(',', ''))
  await page.evaluate(() => {
    const [input] = window.inspected.all<HTMLInputElement>('input')
    input!.value = '500'
    window.inspected.button('Reserve').click()
  })
  await expect.poll(left, PATIENCE).toBeGreaterThanOrEqual(500)
  await page.evaluate(nextIds, 300)
  await click(page, 'Top up')
  await expect.poll(left, PATIENCE).toBeGreaterThanOrEqual(500)

  await click(page, 'Simulate offline')
  await expect
    .poll(() => texts(page, 'dd'), PATIENCE)
    .toContainEqual(expect.stringContaining('Offline'))
  await click(page, 'Give everything back')
  await expect
    .poll(() => texts(page, '.problem'), PATIENCE)
    .toContainEqual(expect.stringContaining('hilo.goOnline()'))
  expect(await page.evaluate(() => window.inspected.all('.problem')[0]!.role)).toBe('alert')
  expect(await page.evaluate(nextIds, 1)).toHaveLength(1)
  await click(page, 'Go online')
  await click(page, 'Give everything back')
  await expect
    .poll(() => page.evaluate(() => window.inspected.all('.problem')[0]!.hidden), PATIENCE)
    .toBe(true)
  await expect.poll(left, PATIENCE).toBe(0)
  await expect
    .poll(() => pieces(page), PATIENCE)
    .toContainEqual(expect.stringMatching(/given back$/))
  await expect.poll(() => site.server.max('orders'), PATIENCE).toBeLessThan(700)

  await site.server.stop()
  await click(page, 'Top up')
  await expect
    .poll(() => texts(page, '.problem p'), PATIENCE)
    .toContainEqual(expect.stringContaining('could not be reached'))
})

test('what is no Hilo is refused', async () => {
  const { page } = await open()
  const refused = page.evaluate(() => {
    document.querySelector('hilo-inspector')!.hilo = 'hilo' as never
  })
  await expect(refused).rejects.toThrow('`hilo` has to be what')
})

test.each([null, undefined])('as %s, it shows no instance and no series', async (none) => {
  const { page } = await open()
  await page.evaluate((none) => {
    const element = document.querySelector('hilo-inspector')!
    element.series = { receipts: window.consecutive(window.hilo, 'receipts') }
    Object.assign(element, { hilo: none, series: none })
  }, none)
  expect(await texts(page, '.inspector > div:not([hidden])')).toEqual([
    expect.stringContaining('.hilo = hilo'),
  ])
  expect(await texts(page, 'h3')).not.toContain('receipts')
})

test('of many collections it shows the first, and says so: the page stays quick', async () => {
  const { page } = await open()
  await page.evaluate(() => {
    for (let i = 2; i <= 1_000; i++) window.hilo.status(`lines of store ${i}`)
    const element = document.querySelector('hilo-inspector')!
    element.replaceWith(element)
  })
  expect(await texts(page, '.meter')).toHaveLength(50)
  expect(await texts(page, '.hint:not([hidden])')).toContain('The first 50 of 1,000 collections:')
})

test('it and the app look right in light and dark, narrow and wide, and pass axe', async () => {
  const { site, browser, page } = await open()
  const other = await browser.newPage()
  await other.goto(address(site))
  await other.evaluate(nextIds, 3)
  await page.evaluate(nextIds, 20)
  await site.server.stop()
  await page.evaluate(async () => {
    window.hilo.goOffline()
    await window.hilo.reserve('orders', 5_000).catch(() => {})
    window.hilo.goOnline()
    await window.hilo.reserve('orders', 5_000).catch(() => {})
  })
  await expect
    .poll(() => texts(page, '.problem h3'), PATIENCE)
    .toEqual(['orders: server-unreachable'])
  const own = await page.evaluate(looksOf, 'own')
  expect(own).toEqual(['40px', 'rgb(255, 0, 255)', 'uppercase'])
  const inside = await page.evaluate(() => {
    const style = getComputedStyle(window.inspected.button('Give everything back'))
    return [style.fontSize, style.textTransform, style.letterSpacing]
  })
  expect(inside).toEqual(['14px', 'none', 'normal'])
  const scheme = () =>
    page.evaluate(() => getComputedStyle(window.inspected.all('.inspector')[0]!).colorScheme)
  expect(await scheme()).toBe('light dark')

  for (const colorScheme of ['light', 'dark']) {
    await page.evaluate((value) => {
      document.documentElement.style.colorScheme = value
      const element = document.querySelector('hilo-inspector')!
      element.replaceWith(element)
    }, colorScheme)
    expect(await scheme()).toBe(colorScheme)
    for (const width of [360, 1_280]) {
      const cut = await page.evaluate((pixels) => {
        const element = document.querySelector('hilo-inspector')!
        element.style.width = `${pixels}px`
        const { right } = element.getBoundingClientRect()
        const isOut = (each: Element) =>
          each.getBoundingClientRect().right > right + 0.5 && !each.closest('.scale, .track')
        return window.inspected
          .all('*')
          .filter(isOut)
          .map(({ outerHTML }) => outerHTML)
      }, width)
      expect(cut).toEqual([])
      expect(await violations(page)).toEqual([])
    }
  }
})

test('a series is shown: its letter, its last number, and what is open', async () => {
  const { site, browser, page } = await open()
  await page.evaluate(() => {
    const receipts = window.consecutive(window.hilo, 'receipts')
    document.querySelector('hilo-inspector')!.series = { receipts }
  })
  const shown = () => texts(page, '[aria-label=receipts] :is(p, li)')
  await expect
    .poll(shown, PATIENCE)
    .toEqual(['No series yet: the first number needs the server once.'])
  const other = await browser.newPage()
  await other.goto(address(site))
  await other.evaluate(async () => {
    const receipts = window.consecutive(window.hilo, 'receipts')
    for (let i = 1; i <= 13; i++) await receipts.next({ key: `sale ${i}` })
    await receipts.settle('sale 1', 'confirmed')
  })
  await expect
    .poll(shown, PATIENCE)
    .toEqual([
      'Series A · last number 13 · the server has heard of 13 · 12 open',
      ...Array.from({ length: 10 }, (_, i) => i + 2).map(
        (n) => `A-${String(n).padStart(6, '0')} of sale ${n}`,
      ),
      'and 2 more',
    ])
  expect(await violations(page)).toEqual([])
  await page.evaluate(() => {
    document.querySelector('hilo-inspector')!.series = {}
  })
  expect(await shown()).toEqual([])
})

/** Runs in the page. */
function looksOf(id: string): string[] {
  const { fontSize, color, textTransform } = getComputedStyle(document.getElementById(id)!)
  return [fontSize, color, textTransform]
}
