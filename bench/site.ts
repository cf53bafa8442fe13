/**
 * The benches' web site: their pages as an app's bundler makes them, and the HiLo server on the
 * same origin, whose requests are counted.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { rolldown } from 'rolldown'
import { build, type Rolldown } from 'vite'
import { createHiloHandler, openLedger } from '../server/src/index.js'

export interface Site {
  url: string
  /** Claims that reached the server so far. */
  claims(): number
  /** Paths that were asked for since the last call. */
  takeRequests(): string[]
  close(): Promise<void>
}

const PAGES = fileURLToPath(new URL('pages', import.meta.url))
const FALLBACK = fileURLToPath(new URL('../src/worker/here.ts', import.meta.url))
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

export async function openSite(): Promise<Site> {
  const files = await bundlePages()
  files.set('/package.js', await bundlePackage())
  return serveSite(files)
}

/** @param files content by path */
export async function serveSite(files: ReadonlyMap<string, string | Uint8Array>): Promise<Site> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hilo-bench-data-'))
  const ledger = await openLedger({ create: true, dataDir })
  const hilo = getRequestListener(createHiloHandler({ ledger, open: true }))
  let claims = 0
  let requests: string[] = []
  const listener = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://site')
    const file = files.get(pathname)
    requests.push(pathname)
    if (pathname.endsWith('/hilo/next')) claims++
    if (file === undefined) return hilo(request, response)
    response.setHeader('content-type', TYPES[extname(pathname)] ?? 'application/octet-stream')
    // Browsers give a page a finer clock that lets nobody else in: 5 µs instead of 100 in Chromium.
    response.setHeader('cross-origin-opener-policy', 'same-origin')
    response.setHeader('cross-origin-embedder-policy', 'require-corp')
    // Every host serves files with a hash of their content in the name this way.
    if (pathname.startsWith('/assets/'))
      response.setHeader('cache-control', 'max-age=31536000, immutable')
    response.end(file)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    claims: () => claims,
    takeRequests() {
      const taken = requests
      requests = []
      return taken
    },
    async close() {
      const closed = new Promise((resolve) => listener.close(resolve))
      listener.closeAllConnections()
      await closed
      await ledger.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * Content of each file, by its path on the site. The code for a page whose worker does not start is
 * not among them: such a page has no id, and its bench fails instead of measuring something else.
 */
async function bundlePages(): Promise<Map<string, string | Uint8Array>> {
  const pages = ['workbench', 'first-id', 'floor'].map((name) => join(PAGES, `${name}.html`))
  const { output } = (await build({
    configFile: false,
    root: PAGES,
    logLevel: 'warn',
    build: { write: false, modulePreload: false, rolldownOptions: { input: pages } },
    worker: { format: 'es' },
  })) as Rolldown.RolldownOutput
  const isFallback = (file: (typeof output)[number]) =>
    file.type === 'chunk' && file.facadeModuleId === FALLBACK
  if (!output.some(isFallback)) throw new Error(`${FALLBACK} is not a file of its own any more.`)
  return new Map(
    output
      .filter((file) => !isFallback(file))
      .map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]),
  )
}

/** The package's entry as one module, without what it loads on demand. */
async function bundlePackage(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('../src/index.ts', import.meta.url)),
    platform: 'browser',
    plugins: [
      {
        name: 'on-demand',
        resolveDynamicImport: (specifier) => ({ id: String(specifier), external: true }),
      },
    ],
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  const { output } = await bundle.generate({ minify: true })
  await bundle.close()
  return output[0].code
}
