/** What a simulated page's window does as a browser does it, and Node does not. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { PageWindow } from './realm.js'
import { turn } from './scheduler.js'

test('a listener that a signal ended hears nothing, also after garbage collection', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const { window } = new PageWindow()
  const ending = new AbortController()
  const heard: string[] = []
  for (const type of ['online', 'pagehide', 'pageshow'])
    window.addEventListener(type, () => heard.push(type), { signal: ending.signal })
  window.emit('pagehide')
  await turn()
  collectGarbage()
  ending.abort()
  for (const type of ['online', 'pagehide', 'pageshow']) window.emit(type)
  expect(heard).toEqual(['pagehide'])
})
