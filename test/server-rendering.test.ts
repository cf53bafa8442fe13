/** The recipes of the frameworks on a server, where there is no page and so no `hilo`. */
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { get } from 'svelte/store'
import { expect, test, vi } from 'vitest'
import { createSSRApp } from 'vue'
import { renderToString as renderVue } from 'vue/server-renderer'
import { hilo } from '../examples/hilo-rendered.js'
import { Orders } from '../examples/react.js'
import { hiloStatus } from '../examples/svelte.js'
import { useHiloStatus } from '../examples/vue.js'

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
