/** What a page remembers over its reload: when the server need not be asked again (H32). */
import { afterEach, expect, test, vi } from 'vitest'
import { leaveAnswers, takeAnswers } from '../../src/client/last-answers.js'
import { PageExit } from '../../src/client/page-exit.js'
import { MemoryStore } from '../../src/store/memory.js'
import { fakeLocalStorage } from '../support/page.js'

const CHROMIUM = { webkitRequestFileSystem: () => {} }
const FIREFOX = { mozInnerScreenX: 0 }

let tab: Storage

function load(type: string, engine: object = CHROMIUM, isFrame = false): void {
  tab ??= fakeLocalStorage()
  const window: Record<string, unknown> = { ...engine }
  window.top = isFrame ? {} : window
  vi.stubGlobal('window', window)
  vi.stubGlobal('sessionStorage', tab)
  vi.spyOn(performance, 'getEntriesByType').mockReturnValue([{ type } as never])
}

afterEach(() => {
  tab = fakeLocalStorage()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

test.each([
  ['Chromium', CHROMIUM],
  ['Firefox', FIREFOX],
])('a reload in %s takes what its page has left', (_, engine) => {
  load('navigate', engine)
  expect(takeAnswers('shop')).toEqual({})
  leaveAnswers('shop', { orders: 'k1' })
  load('reload', engine)
  expect(takeAnswers('shop')).toEqual({ orders: 'k1' })
})

// The shortest ways to an id twice, of rules that only sound right.
test('a restored session brings it back, and clears it: the type is no reload', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  load('back_forward')
  expect(takeAnswers('shop')).toEqual({})
})

test('a restored session that is reloaded afterwards finds nothing', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  load('back_forward')
  takeAnswers('another device')
  load('reload')
  expect(takeAnswers('shop')).toEqual({})
})

test('an app that looks only after such a reload finds it: nobody has cleared it before', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  load('back_forward')
  load('reload')
  expect(takeAnswers('shop')).toEqual({ orders: 'k1' })
})

test('a page that was killed has left nothing, and its reloaded copy finds nothing', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  load('reload')
  takeAnswers('shop')
  load('reload')
  expect(takeAnswers('shop')).toEqual({})
})

test('a reload whose type alone says so asks: nothing was answered in this run', () => {
  load('reload')
  leaveAnswers('shop', {})
  expect(takeAnswers('shop')).toEqual({})
  expect(Object.keys(tab)).toEqual([])
})

test('an engine that was not measured always asks, also where it says reload', () => {
  load('navigate', {})
  leaveAnswers('shop', { orders: 'k1' })
  load('reload', {})
  expect(takeAnswers('shop')).toEqual({})
})

test('a page in a frame asks', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  load('reload', CHROMIUM, true)
  expect(takeAnswers('shop')).toEqual({})
})

test('a page with a store of its app takes nothing: IndexedDB is not its storage', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  load('reload')
  const config = { url: 'https://x', name: 'shop', page: 'page', headers: {}, timeout: 1000 }
  expect(new PageExit(config, new MemoryStore()).answers).toEqual({})
  expect(new PageExit(config).answers).toEqual({ orders: 'k1' })
})

test('devices of one page leave and take their own', () => {
  load('navigate')
  leaveAnswers('shop', { orders: 'k1' })
  leaveAnswers('desk', { orders: 'k2' })
  leaveAnswers('shop', { lines: 'k3' })
  load('reload')
  expect(takeAnswers('shop')).toEqual({ orders: 'k1', lines: 'k3' })
  expect(takeAnswers('desk')).toEqual({ orders: 'k2' })
})

test.each([
  ['is missing', undefined],
  [
    'throws',
    new Proxy(
      {},
      {
        get() {
          throw new DOMException('The operation is insecure.', 'SecurityError')
        },
      },
    ),
  ],
  ['holds nonsense', { getItem: () => 'nonsense' }],
  ['holds null', { getItem: () => 'null', setItem() {} }],
] satisfies [string, unknown][])(
  'a session storage that %s is no trouble: the server is asked',
  (_, storage) => {
    load('reload')
    vi.stubGlobal('sessionStorage', storage)
    leaveAnswers('shop', { orders: 'k1' })
    expect(takeAnswers('shop')).toEqual({})
  },
)
