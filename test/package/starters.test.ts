/**
 * The starters: a copy of each runs by the commands of its README, also offline. What is not of a
 * framework is the same in all of them.
 */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openBrowser } from '../browser/browser.js'
import { REPOSITORY } from './packed.js'
import { Reader, stepsOf } from './reader.js'
import { leftOut, newFolder, staysOffline } from './shop.js'

/** Whole frameworks are fetched and built, on a busy machine. */
const PATIENCE = 1_200_000
const SHARED = ['.gitignore', 'server.js', 'src/hilo.ts', 'src/db.ts', 'src/outbox.ts']
const STARTERS = ['starter', 'starter-react', 'starter-vue', 'starter-svelte']
const packed = inject('packed')
const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8')

test.each(STARTERS)('%s shares all that is not of its framework', (starter) => {
  for (const path of SHARED)
    expect(read(`examples/${starter}/${path}`), path).toBe(read(`examples/starter/${path}`))
})

test("Svelte's page is that of the tutorial", () => {
  const page = read('test/package/apps/tutorial-sveltekit/src/routes/+page.svelte')
  expect(read('examples/starter-svelte/src/App.svelte')).toBe(page.replaceAll('$lib/', './'))
})

test.runIf(leftOut === '').each(STARTERS)(
  `%s runs by its README${leftOut}`,
  { timeout: PATIENCE },
  async (starter) => {
    const folder = newFolder()
    cpSync(join(REPOSITORY, 'examples', starter), folder, { recursive: true })
    const reader = await Reader.begin(folder, packed)
    await reader.type('npm install offline-hilo offline-hilo-server')
    for (const step of stepsOf(`examples/${starter}/README.md`, '## Run it', '## '))
      await reader.take(step)
    await staysOffline(reader, await (await openBrowser('chromium')).newPage())
  },
)
