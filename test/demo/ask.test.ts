/**
 * What the desk asks its server now and then: an answer, or none, and never an error that nobody
 * hears.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { ask } from '../../demo/ask.js'

afterEach(() => vi.unstubAllGlobals())

const answerWith = (answer: () => Promise<Response>) => vi.stubGlobal('fetch', vi.fn(answer))

test('an answer is what it says', async () => {
  answerWith(async () => Response.json({ isOn: true }))
  expect(await ask('/outage', 'POST')).toEqual({ isOn: true })
  expect(fetch).toHaveBeenCalledWith('/outage', { method: 'POST', cache: 'no-store' })
})

test.each<[string, () => Promise<Response>]>([
  ['that never came', async () => Promise.reject(new TypeError('fetch failed'))],
  ['that is a refusal', async () => new Response('{}', { status: 503 })],
  [
    'whose connection was cut in the middle',
    async () => new Response(new ReadableStream({ start: (body) => body.error(new Error('cut')) })),
  ],
  ['that is no JSON', async () => new Response('<html>')],
])('an answer %s is none', async (_, answer) => {
  answerWith(answer)
  expect(await ask('/api/counts')).toBeUndefined()
})
