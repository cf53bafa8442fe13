/** The site that tests serve apps from stays up, whatever a browser asks of it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFolder } from '../../server/test/folders.js'
import { openAppSite } from './app-site.js'

test('a file that cannot be read fails its request, and not the site', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<p>An app')
  const { url } = await openAppSite({ folder, backend: 'http://127.0.0.1:9', csp: '' })
  await expect(fetch(`${url}/assets`).then((response) => response.text())).rejects.toThrow()
  expect(await (await fetch(url)).text()).toBe('<p>An app')
})
