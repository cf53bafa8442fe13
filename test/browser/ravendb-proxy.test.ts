/**
 * The proxies of docs/ravendb.md, as they stand there, between a page in Chromium and a server that
 * knows RavenDB's protocol only.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHiloHandler, openLedger } from '../../server/src/index.js'
import { newFolder } from '../../server/test/folders.js'
import { caddy, nginx, type Program, unless } from '../support/programs.js'
import { runProgram } from '../support/run-program.js'
import { openBrowser } from './browser.js'
import { bundleSite } from './bundle.js'
import { numberOf } from './ids.js'

const DOCUMENT = readFileSync(new URL('../../docs/ravendb.md', import.meta.url), 'utf8')

/** The example in that language, with the addresses and folders of this test. */
function example(language: string, changes: Record<string, string>): string {
  let text = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(DOCUMENT)![1]!
  for (const [from, to] of Object.entries(changes)) {
    expect(text).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

interface Raven {
  url: string
  requests: string[]
}

/** Our server without our extension: it neither reads claims and leases nor tells them. */
async function openRaven(): Promise<Raven> {
  const ledger = await openLedger({ dataDir: newFolder() })
  const handle = createHiloHandler({ ledger })
  const requests: string[] = []
  const plain = async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    requests.push(`${request.method} ${url.pathname.split('/').slice(-2).join('/')}`)
    if (request.method === 'POST' && url.pathname.includes('/hilo/'))
      return new Response('', { status: 404 })
    for (const name of ['claim', 'lease']) url.searchParams.delete(name)
    const answer = await handle(new Request(url, request))
    if (!answer.ok || answer.status === 204) return answer
    const { Lease: _, ...body } = await answer.json()
    return Response.json(body, { status: answer.status })
  }
  const server = createServer(getRequestListener(plain))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await ledger.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
  }
}

/** The test page's files. */
async function writeSite(): Promise<string> {
  const root = newFolder()
  for (const [path, content] of await bundleSite()) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

async function openNginx(raven: string, root: string): Promise<string> {
  const folder = newFolder()
  return runProgram(nginx, (port) => {
    const server = example('nginx', {
      'listen 80;': `listen 127.0.0.1:${port};`,
      '/srv/shop': root,
      'http://127.0.0.1:8080': raven,
    })
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;\nevents {}\n` +
        `http { access_log off; ${paths.join(' ')} types { text/html html; text/javascript ` +
        `js; }\n${server}}\n`,
    )
    return ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
  })
}

async function openCaddy(raven: string, root: string): Promise<string> {
  const folder = newFolder()
  return runProgram(
    caddy,
    (port) => {
      const site = example('caddyfile', {
        'http://shop.example.com': `http://127.0.0.1:${port}`,
        '/srv/shop': root,
        'http://127.0.0.1:8080': raven,
      })
      writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`)
      return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
    },
    { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
  )
}

describe.each<[string, Program, (raven: string, root: string) => Promise<string>]>([
  [`nginx${unless(nginx)}`, nginx, openNginx],
  [`Caddy${unless(caddy)}`, caddy, openCaddy],
])('behind %s', (_, program, open) => {
  test.skipIf(!program.find())(
    'a page has its ids from RavenDB, gives back what it does not need, and reaches nothing else',
    async () => {
      const raven = await openRaven()
      const origin = await open(raven.url, await writeSite())
      const url = `${origin}/?options=${encodeURIComponent(JSON.stringify({ url: '/', database: 'Shop' }))}`

      const page = await (await openBrowser('chromium')).newPage()
      await page.goto(url)
      const ids = await page.evaluate(() => window.hilo.nextIds('orders', 5))
      expect(ids).toEqual([1, 2, 3, 4, 5].map((number) => `orders/${number}-A`))
      await page.reload()
      expect(await page.evaluate(() => window.hilo.nextNumber('orders'))).toBe(6)

      await page.evaluate(() => window.hilo.release())
      expect(raven.requests).toContain('PUT hilo/return')

      const other = await (await openBrowser('chromium')).newPage()
      await other.goto(url)
      const [mine, theirs] = await Promise.all(
        [page, other].map((each) => each.evaluate(() => window.hilo.nextIds('orders', 200))),
      )
      const all = [...mine!, ...theirs!].map(numberOf)
      expect(new Set(all).size).toBe(400)
      expect(Math.min(...all)).toBeGreaterThan(6)

      expect(await page.evaluate(() => window.hilo.nextIdentity('invoices'))).toBe(1)

      for (const path of [
        '/databases/Shop/docs?id=Raven/Hilo/orders',
        '/databases/Other/hilo/next?tag=orders',
        '/metrics',
      ]) {
        expect((await fetch(origin + path)).status).toBe(404)
      }
      expect(
        raven.requests.filter((each) => !/hilo\/(next|return)|identity\/next/.test(each)),
      ).toEqual([])
    },
  )
})
