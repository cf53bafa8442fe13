/**
 * Serves an app's files under a content security policy, with a HiLo server behind them on the same
 * origin.
 */
import { createReadStream, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { forward } from './forward.js'

export const STRICT_CSP = "script-src 'self'; worker-src 'self'"

export interface AppSite {
  url: string
  /** Paths that a browser fetched to start a worker from. */
  workers: string[]
  /** Paths of the scripts or pages that asked for ranges. */
  claimants: string[]
  /** Stops the server: from then on nothing answers at its address, as without a network. */
  close(): void
}

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

export interface AppSiteOptions {
  /** The folder of the app's files. Absent: the backend serves them, too. */
  folder?: string
  /** Address of a backend. It answers all requests that are for no file. */
  backend: string
  csp: string
  /** Answers what is posted to `/api/…`, by its body; with an object where it refuses. */
  post?(body: string): [status: number, refusal?: object]
}

/** To be called inside a test; gone when the test ends. */
export async function openAppSite({
  folder,
  backend,
  csp,
  post,
}: AppSiteOptions): Promise<AppSite> {
  const workers: string[] = []
  const claimants: string[] = []
  const server = createServer((asked, answer) => {
    const { pathname } = new URL(asked.url!, 'http://site')
    if (asked.headers['sec-fetch-dest'] === 'worker') workers.push(pathname)
    if (pathname.endsWith('/hilo/next')) claimants.push(new URL(asked.headers.referer!).pathname)
    answer.setHeader('content-security-policy', csp)
    if (post && pathname.startsWith('/api/')) {
      text(asked).then(
        (body) => {
          const [status, refusal] = post(body)
          answer.writeHead(status).end(refusal && JSON.stringify(refusal))
        },
        // Cut off when the browser was closed.
        () => {},
      )
      return
    }
    const file = folder && join(folder, pathname.replace(/\/$/, '/index.html'))
    if (file && existsSync(file)) {
      answer.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
      // Cut off when the browser was closed.
      pipeline(createReadStream(file), answer, () => {})
      return
    }
    forward(asked, answer, backend)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(close)
  return { url: `http://127.0.0.1:${port}`, workers, claimants, close }
}
