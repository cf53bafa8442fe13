/**
 * A phone of the same network asks the dev server of our samples under another name than this
 * machine's, as docs/phone.md says.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import { createServer, type ProxyOptions } from 'vite'
import { expect, onTestFinished, test } from 'vitest'
import sample from '../../examples/starter/vite.config.js'
import { createHiloHandler, openLedger } from '../../server/src/index.js'

const PHONE_SEES = '192.168.1.5:5173'
const CLAIM = '/databases/default/hilo/next?tag=orders'

test.each([
  ['the proxy of our samples: the phone gets ids', proxyOfSample, 201],
  ['the short form of Vite: the server refuses the page', (target: string) => target, 403],
])('%s', async (_, proxyTo, status) => {
  const port = await devServer(proxyTo(await hiloServer()))
  expect(await ask(port)).toBe(status)
})

function proxyOfSample(target: string): ProxyOptions {
  const { proxy } = (sample as { server: { proxy: Record<string, ProxyOptions> } }).server
  return { ...proxy['/databases'], target }
}

async function hiloServer(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-phone-'))
  const ledger = await openLedger({ create: true, dataDir: folder })
  const server = createAdaptorServer({ fetch: createHiloHandler({ ledger, open: true }) })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function devServer(proxy: string | ProxyOptions): Promise<number> {
  const vite = await createServer({
    configFile: false,
    logLevel: 'silent',
    server: { host: '127.0.0.1', port: 0, ws: false, proxy: { '/databases': proxy } },
    optimizeDeps: { noDiscovery: true },
  })
  await vite.listen()
  onTestFinished(() => vite.close())
  return (vite.httpServer!.address() as AddressInfo).port
}

/** As a page that a browser on the phone shows. */
const ask = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { host: PHONE_SEES, origin: `http://${PHONE_SEES}` }
    request({ port, host: '127.0.0.1', path: CLAIM, headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
