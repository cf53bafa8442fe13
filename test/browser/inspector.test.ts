/**
 * The inspector in real browsers: what it shows of a device and its tabs, what can be done with it,
 * and that everybody can.
 */
import axe from 'axe-core'
import { describe, expect, test } from 'vitest'
import type { HiloOptions } from '../../src/index.js'
import { openBrowser, type TestPage } from './browser.js'
import { type EngineName, testedEngines } from './engines.js'
import { openSite, type Site } from './site.js'

/** A busy machine may take its time. */
const PATIENCE = { timeout: 30_000 }

const OPTIONS: HiloOptions = { collections: { orders: { reserve: 100 } } }

const address = (site: Site, options = OPTIONS) =>
  site.url(options).replace('/?', '/inspector.html?')

async function open(name: EngineName) {
  const site = await openSite()
  const browser = await openBrowser(name)
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

describe.each(testedEngines().map(({ title, name }) => [title, name] as const))(
  'in %s',
  (_, name) => {
    test('without an instance it says what to do; with one it draws the numbers', async () => {
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
      await expect
        .poll(async () => (await pieces(page))[0], PATIENCE)
        .toBe('1–5: 5 numbers, issued')
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
    })

    test('it shows what another tab leases, issues and parks, each with its reason', async () => {
      const { site, browser, page } = await open(name)
      const other = await browser.newPage()
      await other.goto(address(site))
      await other.evaluate(nextIds, 7)
      await expect
        .poll(() => pieces(page), PATIENCE)
        .toContainEqual(expect.stringMatching(/leased to page [0-9a-f]{4}$/))
      const events = async () =>
        (await texts(page, '.log li')).map((text) => text!.replace(/^[\d:]+/, ''))
      await expect
        .poll(events, PATIENCE)
        .toContainEqual(
          expect.stringMatching(/^leaseorders [\d–]+page [0-9a-f]{4}: The page ran low\.$/),
        )
      // A page settles a lease that it has used up when it comes for more.
      await other.evaluate(nextIds, 60)
      await expect
        .poll(events, PATIENCE)
        .toContainEqual(
          expect.stringMatching(/^issueorders [\d–, ]+page [0-9a-f]{4}: The app has used them\.$/),
        )
      await expect
        .poll(events, PATIENCE)
        .toContainEqual(expect.stringMatching(/^parkorders [\d–, ]+page [0-9a-f]{4}: /))
      // What a screen reader hears of all that.
      await expect
        .poll(() => texts(page, '.unseen'), PATIENCE)
        .toEqual([expect.stringContaining('orders')])
    })

    test('the number line is read and zoomed by keys, buttons and wheel', async () => {
      const { page } = await open(name)
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

    test('the number line is dragged only while the pointer is down, outside too', async () => {
      const { page } = await open(name)
      await click(page, 'Zoom into orders')
      const seen = await page.evaluate(() => {
        const [track] = window.inspected.all('.track')
        // Only a real pointer can be captured.
        track!.setPointerCapture = () => {}
        const view = () => window.inspected.texts('.detail')[0]
        const point = (type: string, clientX: number, buttons: number) =>
          track!.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX, buttons }))
        const start = view()
        point('pointerdown', 300, 1)
        point('pointermove', 250, 1)
        const dragged = view()
        point('pointermove', 200, 0)
        point('pointermove', 150, 0)
        return { start, dragged, end: view() }
      })
      expect(seen.dragged).not.toBe(seen.start)
      expect(seen.end).toBe(seen.dragged)
    })

    test('after a change of instance it shows nothing of the old one, even late', async () => {
      const { page } = await open(name)
      const seen = await page.evaluate(async () => {
        const NAME = 'orders|a|b'
        const asked: unknown[] = []
        const fake = (from: number) => {
          let answer = () => {}
          const inspected = new Promise<object>((resolve) => {
            const segment = {
              from,
              to: from,
              prefix: 'orders/',
              serverTag: 'A',
              kind: 'leased',
              page: `${from}page`,
              isThisPage: true,
            }
            answer = () => resolve({ collection: 'orders', database: 'a|b', segments: [segment] })
          })
          const hilo = Object.assign(new EventTarget(), {
            status: () => ({
              online: true,
              storage: 'memory',
              collections: {
                [NAME]: { available: 1, leased: 1, reserve: 1, state: 'ready', gaps: 0 },
              },
            }),
            watch: () => () => {},
            inspect: (...args: unknown[]) => {
              asked.push(args)
              return inspected
            },
          })
          return { hilo: hilo as never, answer: () => answer(), inspected }
        }
        const element = document.querySelector('hilo-inspector')!
        const [before, now] = [fake(1), fake(2)]
        element.hilo = before.hilo
        element.hilo = now.hilo
        const page = () => window.inspected.texts('dd')[2]
        const first = page()
        now.answer()
        await now.inspected
        before.answer()
        await before.inspected
        return { asked, first, page: page(), pieces: window.inspected.pieces(NAME) }
      })
      expect(seen).toEqual({
        asked: [
          ['orders', { database: 'a|b' }],
          ['orders', { database: 'a|b' }],
        ],
        first: 'holds no lease',
        page: '2pag',
        pieces: ['2: 1 number, leased to this page'],
      })
    })

    test('a developer tops up, reserves, goes offline, sees an error, gives all back', async () => {
      const { site, page } = await open(name)
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

    test('it follows an app that goes offline and online by a switch of its own', async () => {
      const { page } = await open(name)
      const buttons = () => texts(page, '.actions button')
      await page.evaluate(() => window.hilo.goOffline())
      await expect.poll(buttons, PATIENCE).toContain('Go online')
      await page.evaluate(() => window.hilo.goOnline())
      await expect.poll(buttons, PATIENCE).toContain('Simulate offline')
      await page.evaluate(() => window.hilo.goOffline())
      await expect.poll(buttons, PATIENCE).toContain('Go online')
      await click(page, 'Go online')
      await expect.poll(() => page.evaluate(() => window.hilo.status().online), PATIENCE).toBe(true)
    })

    test('a bug report is copied, or else shown, with the state and without a secret', async () => {
      const site = await openSite()
      const page = await (await openBrowser(name)).newPage()
      await page.goto(address(site, { ...OPTIONS, headers: { Authorization: 'Bearer s3cret' } }))
      await look(page)
      await page.evaluate(() => {
        const writeText = async (text: string) => {
          window.name = text
        }
        Object.defineProperty(navigator, 'clipboard', { value: { writeText } })
      })
      await click(page, 'Copy bug report')
      await expect
        .poll(() => texts(page, '[role=status].hint'), PATIENCE)
        .toEqual(['Copied, without tokens and headers.'])
      const report = await page.evaluate(() => window.name)
      expect(JSON.parse(report)).toMatchObject({
        inspections: [{ collection: 'orders' }],
        status: { collections: { orders: { reserve: 100 } } },
      })
      expect(report).not.toMatch(/s3cret|Authorization|token"/)
      await page.evaluate(() => {
        Object.assign(navigator.clipboard, {
          writeText: () => Promise.reject(new DOMException('No.', 'NotAllowedError')),
        })
      })
      await click(page, 'Copy bug report')
      await expect
        .poll(
          () =>
            page.evaluate(() => window.inspected.all<HTMLTextAreaElement>('textarea')[0]!.value),
          PATIENCE,
        )
        .toContain('"collection": "orders"')
    })

    test('it and the app look right in light and dark, narrow and wide, and pass axe', async () => {
      const { site, browser, page } = await open(name)
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
      const { site, browser, page } = await open(name)
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
        await receipts.confirm('sale 1')
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

    test('it observes only while on the page, and takes an instance set before', async () => {
      const { page } = await open(name)
      const seen = await page.evaluate(async () => {
        let watched = 0
        const { hilo } = window
        const watch = hilo.watch.bind(hilo)
        hilo.watch = (listener) => {
          watched++
          const stop = watch(listener)
          return () => {
            watched--
            stop()
          }
        }
        const element = document.querySelector('hilo-inspector')!
        const counts: number[] = []
        const note = () => counts.push(watched)
        element.remove()
        document.body.append(element)
        note()
        element.remove()
        note()
        element.hilo = undefined
        element.hilo = hilo
        note()
        document.body.append(element)
        note()
        element.hilo = undefined
        note()
        const early = document.implementation.createHTMLDocument().createElement('hilo-inspector')
        Object.assign(early, { hilo })
        element.replaceWith(early)
        return { counts, isHandedOn: early.hilo === hilo && !Object.hasOwn(early, 'hilo') }
      })
      expect(seen).toEqual({ counts: [1, 0, 0, 1, 0], isHandedOn: true })
    })
  },
)

/** Runs in the page. */
function looksOf(id: string): string[] {
  const { fontSize, color, textTransform } = getComputedStyle(document.getElementById(id)!)
  return [fontSize, color, textTransform]
}
