/**
 * docs/tutorial-frameworks.md word by word, each part in an empty folder and a browser: an order
 * that was made offline is in the API's database when the server is back.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openAppSite } from '../browser/app-site.js'
import { openBrowser } from '../browser/browser.js'
import { REPOSITORY } from './packed.js'
import { Reader, type Step, stepsOf } from './reader.js'
import { leftOut, newFolder, order, staysOffline } from './shop.js'

/** Whole frameworks are fetched and built, on a busy machine. */
const PATIENCE = 1_200_000
const PAGE = 'docs/tutorial-frameworks.md'
const packed = inject('packed')
const TUTORIAL = stepsOf('docs/tutorial.md', '## 1. The folder', '## 7').filter(
  (step) => step.kind === 'file',
)

const PARTS = [
  { heading: '## React', end: '## Vue', folder: '' },
  { heading: '## Vue', end: '## SvelteKit', folder: '' },
  { heading: '## SvelteKit', end: '## Nuxt', folder: 'src/lib/' },
  { heading: '## Nuxt', end: '## Next', folder: 'app/' },
  { heading: '## Next', end: '## webpack', folder: 'app/' },
  { heading: '## webpack', end: '## Angular', folder: '' },
  { heading: '## Angular', end: '## ', folder: 'src/app/' },
]

test.each(PARTS)('$heading takes files that the tutorial has', ({ heading, end, folder }) => {
  expect(taken(heading, end, folder).length).toBeGreaterThan(2)
})

test.runIf(leftOut === '').each(PARTS)(
  `$heading: an order made offline is sent, as the page says${leftOut}`,
  { timeout: PATIENCE },
  async ({ heading, end, folder }) => {
    const reader = await Reader.begin(newFolder(), packed)
    const steps = stepsOf(PAGE, heading, end)
    const at = steps.findIndex((step) => step.kind === 'file' && step.path !== 'package.json')
    for (const step of [...steps.slice(0, at), ...taken(heading, end, folder), ...steps.slice(at)])
      await reader.take(step)
    const browser = await openBrowser('chromium')
    await staysOffline(reader, await browser.newPage())
    // The bundler found the HiLo worker: only a script of its own claims, and not the page.
    const { url: backend } = reader.running.get('npm start')!
    const site = await openAppSite({ backend, csp: "worker-src 'self'" })
    const tab = await browser.newPage()
    await tab.goto(site.url)
    await order(tab, 'Barbara')
    // Nor does it once the service worker answers for that script: nothing is stored, and it asks.
    await tab.evaluate(async () => {
      await navigator.serviceWorker.ready
      const { storageBuckets } = navigator as unknown as {
        storageBuckets: { open(name: string): Promise<{ indexedDB: IDBFactory }> }
      }
      const { indexedDB } = await storageBuckets.open('offline-hilo')
      const deletion = indexedDB.deleteDatabase('offline-hilo')
      await new Promise((resolve) => deletion.addEventListener('success', resolve))
    })
    await tab.reload()
    await order(tab, 'Grace')
    expect([...new Set(site.claimants)]).toEqual([expect.stringMatching(/\.js$/)])
  },
)

/** What this part takes from the tutorial, as its own folders call it. */
function taken(heading: string, end: string, folder: string): Step[] {
  const page = readFileSync(join(REPOSITORY, PAGE), 'utf8')
  const from = page.indexOf(`\n${heading}\n`)
  const part = page.slice(from, page.indexOf(`\n${end}`, from + 1) + 1 || undefined)
  const [, list = ''] =
    /files are the tutorial's[^:]*:([^.]*(?:\.(?! )[^.]*)*)\. /.exec(part.replaceAll('\n', ' ')) ??
    []
  const [, app = '', other] = /So\sis\s`([^`]+)` of \[(\w+)\]/.exec(part) ?? []
  const files = [...TUTORIAL, ...(other ? stepsOf(PAGE, `## ${other}`, '## ') : [])]
  return [...list.matchAll(/`([^`]+)`/g), ...(app ? [[app, app]] : [])].map(([, path]) => {
    const named = (name: string) => files.find((each) => each.kind === 'file' && each.path === name)
    const inSources = named(`src/${path}`)
    const file = inSources ? { ...inSources, path: `${folder}${path}` } : named(path!)
    if (!file) throw new Error(`There is no ${path}.`)
    return file
  })
}
