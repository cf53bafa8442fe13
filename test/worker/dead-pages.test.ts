/** Which pages are taken for dead, with timers that the test moves. */
import { expect, test } from 'vitest'
import { newBackground } from '../../src/device/background.js'
import { newDeadPages } from '../../src/worker/dead-pages.js'
import type { Tabs } from '../../src/worker/tabs.js'
import { flush } from '../support/world.js'

test('none by a page that comes back from the cache, before it has heard the others', async () => {
  const due: (() => void)[] = []
  const heard = new Set<string>()
  const context = {
    ...newBackground((_, run) => {
      due.push(run)
      return () => {}
    }),
    tabs: { askWhoLives: () => (page: string) => heard.has(page) } as Tabs,
  }
  const dead: string[] = []
  const pages = newDeadPages(context, async (written) => {
    dead.push(...written)
    return new Set()
  })
  pages.search(new Set(['alive', 'killed']))
  // In the cache the time passes, and no message comes. Afterwards what is due is first.
  due.shift()!()
  await flush()
  heard.add('alive')
  while (due.length > 0) due.shift()!()
  await pages.idle()
  expect(dead).toEqual(['killed'])
})
