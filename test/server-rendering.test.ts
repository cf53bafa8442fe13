/** The recipes of the frameworks on a server, where there is no page and so no `hilo`. */
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { get } from 'svelte/store'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createSSRApp } from 'vue'
import { renderToString as renderVue } from 'vue/server-renderer'
import { hilo } from '../examples/hilo-rendered.js'
import { Orders } from '../examples/react.js'
import { hiloStatus } from '../examples/svelte.js'
import { useHiloStatus } from '../examples/vue.js'
import { createHilo } from '../src/index.js'
import { quiet } from './support/shop.js'

vi.mock('../examples/hilo.js', () => import('../examples/hilo-rendered.js'))

test('there is no hilo', () => {
  expect(hilo).toBeUndefined()
})

test('React renders the component without a status', () => {
  expect(renderToString(createElement(Orders))).toContain('<p role="status">…</p>')
})

test('Vue has no status', async () => {
  const app = createSSRApp({
    setup() {
      const status = useHiloStatus(hilo)
      return () => String(status.value)
    },
  })
  expect(await renderVue(app)).toBe('undefined')
})

test('Svelte has no status', () => {
  expect(get(hiloStatus(hilo))).toBeUndefined()
})

describe('a createHilo that runs on a server, too', () => {
  // A test of pages has loaded one.
  beforeEach(() => void vi.stubGlobal('indexedDB', undefined))
  afterEach(() => vi.unstubAllGlobals())

  test.each([undefined, '/ids', 'https://shop.example.com'])(
    'does nothing with the url %s until it is asked',
    async (url) => {
      const sent = vi.fn()
      vi.stubGlobal('fetch', sent)
      const hilo = createHilo({ ...(url && { url }), collections: { orders: { reserve: 200 } } })
      hilo.addEventListener('status', () => {})
      expect(hilo.status().collections).toEqual({})
      await quiet()
      expect(sent).not.toHaveBeenCalled()
      await hilo.close()
    },
  )

  test('does so too where `location` is there without a value, as in Deno', async () => {
    vi.stubGlobal('location', undefined)
    const sent = vi.fn()
    vi.stubGlobal('fetch', sent)
    const hilo = createHilo({ url: 'https://shop.example.com', collections: { orders: {} } })
    await quiet()
    expect(sent).not.toHaveBeenCalled()
    await hilo.close()
  })

  test.each(['/ids', 'https://shop.example.com'])(
    'says at the first call what is missing, with the url %s',
    async (url) => {
      const hilo = createHilo({ url, collections: { orders: {} } })
      const missing = expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(/no page.*server.*in the browser.*`url`.*`store`/),
      })
      for (const call of [
        () => hilo.nextId('orders'),
        () => hilo.reserve('orders', 5),
        () => hilo.ready,
        async () => hilo.nextIdSync('orders'),
        () => hilo.nextIdentity('orders'),
      ])
        await expect(call()).rejects.toEqual(missing)
      await hilo.close()
    },
  )

  test('refuses what is wrong anywhere', () => {
    for (const url of ['http://', 'https://a b', 'ftp://x'])
      expect(() => createHilo({ url })).toThrow('`url`')
  })
})
