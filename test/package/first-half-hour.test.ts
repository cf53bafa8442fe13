/**
 * The first half hour of a new user: the commands and files of the documentation, in an empty
 * folder, with both packages as they are published. Only with `CI=true`, because it fetches whole
 * frameworks.
 */
import { describe, expect, inject, test } from 'vitest'
import { openBrowser } from '../browser/browser.js'
import { isFull } from '../support/sizes.js'
import { newOrder } from './new-order.js'
import { Reader, type Step, stepsOf } from './reader.js'
import { newFolder } from './shop.js'

/** Whole frameworks are fetched and built, on a busy machine. */
const PATIENCE = 1_200_000
const packed = inject('packed')

async function newReader(steps: Step[]): Promise<Reader> {
  const reader = await Reader.begin(newFolder(), packed)
  for (const step of steps) await reader.take(step)
  return reader
}

describe.runIf(isFull)('in an empty folder, as the documentation says', () => {
  test('Vite with React', { timeout: PATIENCE }, async () => {
    const page = 'docs/getting-started.md'
    const reader = await newReader([
      ...stepsOf(page, '## 1. An app and a server', '## 2'),
      ...stepsOf(page, '## 2. An id', '## 3'),
      ...stepsOf(page, '## 3. Look inside', '## 4'),
      { kind: 'command', text: 'npm run dev' },
    ])
    await staysOffline(reader, 'npm run dev')
  })

  test('plain HTML', { timeout: PATIENCE }, async () => {
    const reader = await newReader(stepsOf('docs/bundlers.md', '## No bundler', '## '))
    const { url, kill } = reader.running.get('node server.mjs')!
    const tab = await (await openBrowser('chromium')).newPage()
    await tab.goto(url)
    expect(await newOrder(tab)).toBe('orders/1-A')
    await kill()
    expect(await newOrder(tab)).toBe('orders/2-A')
  })
})

/** The app beside its dev server: an id, and another one when the HiLo server has gone. */
async function staysOffline(reader: Reader, dev: string): Promise<void> {
  const tab = await (await openBrowser('chromium')).newPage()
  await tab.goto(reader.running.get(dev)!.url)
  const first = await newOrder(tab)
  await reader.running.get('npx offline-hilo-server')!.kill()
  await tab.reload()
  expect(numberOf(await newOrder(tab))).toBe(numberOf(first) + 1)
}

const numberOf = (id: string) => Number(/^orders\/(\d+)-A$/.exec(id)![1])
