/**
 * What a page hears of its own life: hidden, frozen, gone, back from the cache, on and off the
 * network.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { watchLifecycle } from '../../src/client/lifecycle.js'
import { FakePage } from '../support/page.js'

afterEach(() => {
  vi.unstubAllGlobals()
})

const deaf = { hidden() {}, exit() {}, shown() {}, online() {}, offline() {} }

function watchedPage() {
  const page = new FakePage().enter()
  vi.stubGlobal('addEventListener', page.window.addEventListener.bind(page.window))
  const told: string[] = []
  const stop = new AbortController()
  watchLifecycle(
    {
      hidden: () => told.push('hidden'),
      exit: () => told.push('exit'),
      shown: () => told.push('shown'),
      online: () => told.push('online'),
      offline: () => told.push('offline'),
    },
    stop.signal,
  )
  return { page, told, stop }
}

test('a page that becomes hidden and is seen again says so', () => {
  const { page, told } = watchedPage()
  page.hide()
  page.show()
  expect(told).toEqual(['hidden', 'shown'])
})

test('a page that goes says so first', () => {
  const { page, told } = watchedPage()
  page.leave()
  expect(told[0]).toBe('exit')
})

test('a page out of the back/forward cache is shown; one that just loaded is not', () => {
  const { page, told } = watchedPage()
  page.comeBack()
  expect(told).toContain('shown')
  told.length = 0
  page.window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }))
  expect(told).toEqual([])
})

test('a page that the browser freezes counts as hidden, and as shown when it goes on', () => {
  const { page, told } = watchedPage()
  page.document.dispatchEvent(new Event('freeze'))
  page.document.dispatchEvent(new Event('resume'))
  expect(told).toEqual(['hidden', 'shown'])
})

test('the network going and coming back is passed on', () => {
  const { page, told } = watchedPage()
  page.window.dispatchEvent(new Event('offline'))
  page.window.dispatchEvent(new Event('online'))
  expect(told).toEqual(['offline', 'online'])
})

test('nothing is heard any more after it stopped', () => {
  const { page, told, stop } = watchedPage()
  stop.abort()
  page.hide()
  page.leave()
  page.comeBack()
  page.window.dispatchEvent(new Event('online'))
  expect(told).toEqual([])
})

test('without a document, as in a service worker, it hears what there is to hear', () => {
  expect(() => watchLifecycle(deaf, new AbortController().signal)).not.toThrow()
})

test('no listener is added that would keep a page out of the back/forward cache', () => {
  const page = new FakePage().enter()
  const heard = [
    vi.spyOn(page.window, 'addEventListener'),
    vi.spyOn(page.document, 'addEventListener'),
  ]
  watchLifecycle(deaf, new AbortController().signal)
  const types = heard.flatMap(({ mock }) => mock.calls.map(([type]) => type))
  expect(types).not.toContain('unload')
  expect(types).not.toContain('beforeunload')
})
