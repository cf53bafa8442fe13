/** The desk’s server: one address with everything, which can be started again and can play dead. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { buildDesk } from '../../demo/server/build.js'
import { type Desk, startDesk } from '../../demo/server/desk-server.js'

const pages = mkdtempSync(join(tmpdir(), 'order-desk-pages-'))
beforeAll(() => buildDesk(pages))
afterAll(() => rmSync(pages, { recursive: true, force: true }))

async function start(data: string, port?: number): Promise<Desk> {
  const desk = await startDesk({ pages, database: { data }, ...(port && { port }) })
  onTestFinished(() => desk.close())
  return desk
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-desk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('other machines reach it only where somebody said so', async () => {
  const on = (open: boolean) =>
    startDesk({ pages, database: { data: newFolder() }, host: '0.0.0.0', open })
  await expect(on(false)).rejects.toThrow('there are no tokens: everybody who reaches this address')
  const desk = await on(true)
  await desk.close()
})

test('one address serves the page, the library, the ids and the orders API', async () => {
  const { url } = await start(newFolder())
  const get = async (path: string) => {
    const response = await fetch(url + path)
    return [response.status, await response.text()] as const
  }
  const [, page] = await get('/')
  expect(page).toContain('<h1>')
  expect((await get('/demo/minimal/'))[1]).toContain('New ticket')
  expect(page).toContain('<link rel="manifest" href="/manifest.webmanifest"')
  expect(JSON.parse((await get('/manifest.webmanifest'))[1])).toMatchObject({
    start_url: '/',
    display: 'standalone',
  })
  expect(JSON.parse((await get('/databases/default/hilo/next?tag=orders'))[1])).toMatchObject({
    Low: 1,
    High: 32,
  })
  expect(JSON.parse((await get('/api/counts'))[1])).toHaveProperty('orders')
  expect((await get('/nothing'))[0]).toBe(404)
  expect((await get('/../../package.json'))[0]).toBe(404)
})

test('its service worker keeps every file of the pages, by name or revision', async () => {
  const { url } = await start(newFolder())
  const worker = await (await fetch(`${url}/service-worker.js`)).text()
  const kept = [...worker.matchAll(/{url:`([^`]+)`,revision:(null|`)/g)].map(
    ([, file, revision]) => ({ file, isNamedByContent: revision === 'null' }),
  )
  const files = readdirSync(pages, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'service-worker.js')
    .map(({ parentPath, name }) => relative(pages, join(parentPath, name)))
    .filter((file) => !file.startsWith('docs/'))
    .map((file) => ({ file, isNamedByContent: file.startsWith('assets/') }))
  const inOrder = (all: object[]) => all.map((each) => JSON.stringify(each)).sort()
  expect(inOrder(kept)).toEqual(inOrder(files))
  expect(files).toContainEqual({ file: 'manifest.webmanifest', isNamedByContent: false })
})

test('its page leads to the documents, which a browser shows', async () => {
  const { url } = await start(newFolder())
  const read = async (address: string) => (await fetch(address)).text()
  const [, path] = (await read(url)).match(/href="(\/docs\/[^"]*)"/)!
  const index = await read(`${url}${path}`)
  expect(index).toContain('<h1 id="documentation">Documentation</h1>')
  const links = [...index.matchAll(/href="([\w/-]+\.html)"/g)].map(([, link]) => link!)
  expect(links.length).toBeGreaterThan(40)
  for (const link of links) expect(await read(`${url}${path}${link}`)).toContain('<h1 ')
})

test('it plays dead on demand: every request fails but the one that ends it', async () => {
  const { url } = await start(newFolder())
  const turn = async (method: string) =>
    (await fetch(`${url}/outage`, { method, headers: { Origin: url } })).json()
  expect(await turn('POST')).toEqual({ isOn: true })
  await expect(fetch(`${url}/api/counts`)).rejects.toThrow()
  await expect(fetch(`${url}/databases/default/hilo/next?tag=orders`)).rejects.toThrow()
  expect(await turn('GET')).toEqual({ isOn: true })
  expect(await turn('DELETE')).toEqual({ isOn: false })
  expect((await fetch(`${url}/api/counts`)).status).toBe(200)
})
