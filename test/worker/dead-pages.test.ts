/** Which pages are taken for dead, with timers that the test moves. */
import { expect, test } from 'vitest'
import { newBackground } from '../../src/device/background.js'
import { newDeadPages } from '../../src/worker/dead-pages.js'
import type { Tabs } from '../../src/worker/tabs.js'
import { flush } from '../support/world.js'

/** @param writeOff the transaction */
function search(writeOff: (dead: () => ReadonlySet<string>) => Promise<void>) {
  const due: (() => void)[] = []
  const heard = new Set<string>()
  const context = {
    ...newBackground((_, run) => {
      due.push(run)
      return () => {}
    }),
    tabs: { askWhoLives: () => (page: string) => heard.has(page) } as Tabs,
  }
  const pages = newDeadPages(context, async (dead) => {
    await writeOff(dead)
    return new Set()
  })
  pages.search(new Set(['alive', 'killed']))
  return { due, heard, pages }
}

test('none by a page that comes back from the cache, before it has heard the others', async () => {
  const dead: string[] = []
  const { due, heard, pages } = search(async (written) => {
    dead.push(...written())
  })
  // In the cache the time passes, and no message comes. Afterwards what is due is first.
  due.shift()!()
  await flush()
  heard.add('alive')
  while (due.length > 0) due.shift()!()
  await pages.idle()
  expect(dead).toEqual(['killed'])
})

test('none that is heard while the storage keeps the search waiting', async () => {
  const dead: string[] = []
  let storageAnswers = () => {}
  const isBusy = new Promise<void>((resolve) => {
    storageAnswers = resolve
  })
  const { due, heard, pages } = search(async (written) => {
    await isBusy
    dead.push(...written())
  })
  while (due.length > 0) due.shift()!()
  await flush()
  heard.add('alive')
  storageAnswers()
  await pages.idle()
  expect(dead).toEqual(['killed'])
})
