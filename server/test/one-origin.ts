/** What tests of one origin share: an app's files, and what has to hold of them and of its ids. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { newFolder } from './folders.js'
import type { AskSite } from './proxies.js'

/** @returns the folder of an app's files */
export function newApp(): string {
  const folder = newFolder()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<title>The app</title>')
  writeFileSync(join(folder, 'assets/app-1.js'), 'export {}')
  return folder
}

export async function expectAppAndIds(site: string, ask: AskSite): Promise<void> {
  for (const path of ['/', '/orders/5'])
    expect(await (await ask(path)).text()).toBe('<title>The app</title>')
  expect(await (await ask('/assets/app-1.js')).text()).toBe('export {}')
  expect((await ask('/assets/app-0.js')).status).toBe(404)

  const next = '/databases/Shop/hilo/next?tag=orders'
  const checkIn = (origin: string) =>
    ask('/databases/Shop/hilo/checkin', {
      method: 'POST',
      headers: { Origin: origin, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id: crypto.randomUUID(), grants: [] }),
    })
  expect((await ask(next, { headers: { Origin: site } })).status).toBe(201)
  expect((await checkIn(site)).status).toBe(200)
  expect((await ask(next, { headers: { Origin: 'https://evil.example' } })).status).toBe(403)
  expect((await checkIn('https://evil.example')).status).toBe(403)
}
