/** Vite's server in front of a RavenDB, as docs/ravendb.md has it; here in front of ours. */
import { createServer } from 'vite'
import { expect, onTestFinished, test } from 'vitest'
import config from '../../examples/raven-proxy/vite.config.js'
import { serve } from '../src/index.js'
import { newFolder } from './folders.js'

test('Vite passes on HiLo requests of one database, and nothing else', async () => {
  const server = await serve({ create: true, port: 0, dataDir: newFolder() })
  onTestFinished(() => server.close())
  const proxy = Object.fromEntries(
    Object.keys(config.server!.proxy!).map((path) => [path, server.url]),
  )
  const vite = await createServer({
    configFile: false,
    root: newFolder(),
    logLevel: 'silent',
    server: { host: '127.0.0.1', port: 0, proxy },
  })
  onTestFinished(() => vite.close())
  await vite.listen()
  const [url] = vite.resolvedUrls!.local
  const ask = async (path: string, init?: RequestInit) =>
    (await fetch(new URL(path, url), init)).status
  expect(await ask('/databases/Shop/hilo/next?tag=orders')).toBe(201)
  const giveBack = '/databases/Shop/hilo/return?tag=orders&end=32&last=1'
  expect(await ask(giveBack, { method: 'PUT' })).toBe(204)
  expect(await ask('/databases/Shop/identity/next?name=invoices', { method: 'POST' })).toBe(200)
  for (const other of ['/databases/Shop/docs?id=x', '/databases/Other/hilo/next?tag=orders'])
    expect(await ask(other)).toBe(404)
})
