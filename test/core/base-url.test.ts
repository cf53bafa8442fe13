/** What relative URLs are resolved against, in each place where the package may run. */
import { expect, test } from 'vitest'
import { baseUrl } from '../../src/core/base-url.js'

const origin = 'https://shop.example.com'

test.each([
  ['a page', `${origin}/desk/?x=1`, `${origin}/orders`],
  ['a worker of a file', `${origin}/assets/worker.js`, `${origin}/orders`],
  ['a worker of a blob', `blob:${origin}/1b4e28ba-2fa1-11d2-883f-0016d3cca427`, `${origin}/orders`],
])('%s', (_, href, url) => {
  expect(new URL('/orders', baseUrl({ href })).href).toBe(url)
})

test('nothing where there is no page', () => {
  expect(baseUrl(undefined)).toBeUndefined()
})
