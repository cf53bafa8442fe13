/**
 * The proxies of docs/ravendb.md, as they stand there, between a page in Chromium and a RavenDB: a
 * real one where there is one, and our server without our extension.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { createHiloHandler, openLedger } from '../../server/src/index.js'
import { newFolder } from '../../server/test/folders.js'
import { caddy, nginx, type Program, unless } from '../support/programs.js'
import { type RavenServer, ravenMissing, startRavenDb, unlessRaven } from '../support/ravendb.js'
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
  database: string
  requests: string[]
}

type Handler = (request: Request) => Promise<Response>

/** Notes what reaches it. */
async function listen(handle: Handler, database: string): Promise<Raven> {
  const requests: string[] = []
  const server = createServer(
    getRequestListener((request) => {
      const { pathname } = new URL(request.url)
      requests.push(`${request.method} ${pathname.split('/').slice(-2).join('/')}`)
      return handle(request)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    database,
    requests,
  }
}

/** What a RavenDB says of a request that it does not know. */
const NO_ROUTE = {
  Type: 'Raven.Client.Exceptions.Routing.RouteNotFoundException',
  Message: 'There is no handler for path.',
}

/** Our server without our extension: it reads no `claim` and no `token`, and answers none. */
async function openPlain(): Promise<Raven> {
  const ledger = await openLedger({ create: true, dataDir: newFolder() })
  onTestFinished(() => ledger.close())
  const handle = createHiloHandler({ ledger })
  return listen(async (request) => {
    const url = new URL(request.url)
    if (request.method === 'POST' && url.pathname.includes('/hilo/'))
      return Response.json(NO_ROUTE, { status: 400 })
    for (const name of ['claim', 'token']) url.searchParams.delete(name)
    const answer = await handle(new Request(url, request))
    if (!answer.ok || answer.status === 204) return answer
    const { Token: _, Claim: __, ...body } = await answer.json()
    return Response.json(body, { status: answer.status })
  }, 'Shop')
}

let ravenDb: Promise<RavenServer> | undefined
afterAll(async () => (await ravenDb)?.stop())

async function openReal(): Promise<Raven> {
  ravenDb ??= startRavenDb()
  const { url, newDatabase } = await ravenDb
  return listen(
    async (request) => {
      const { pathname, search } = new URL(request.url)
      const { status, body, headers } = await fetch(url + pathname + search, {
        method: request.method,
        headers: { 'Content-Type': request.headers.get('Content-Type') ?? '' },
        body: request.method === 'GET' ? null : await request.text(),
      })
      const type = headers.get('Content-Type') ?? ''
      return new Response(body, { status, headers: { 'Content-Type': type } })
    },
    await newDatabase(),
  )
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

async function openNginx(raven: Raven, root: string): Promise<string> {
  const folder = newFolder()
  return runProgram(nginx, (port) => {
    const server = example('nginx', {
      'listen 80;': `listen 127.0.0.1:${port};`,
      '/srv/shop': root,
      'http://127.0.0.1:8080': raven.url,
      '/Shop/': `/${raven.database}/`,
    })
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;\n` +
        'events {}\n' +
        `http { access_log off; ${paths.join(' ')} types { text/html html; text/javascript ` +
        `js; }\n${server}}\n`,
    )
    return ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
  })
}

async function openCaddy(raven: Raven, root: string): Promise<string> {
  const folder = newFolder()
  return runProgram(
    caddy,
    (port) => {
      const site = example('caddyfile', {
        'http://shop.example.com': `http://127.0.0.1:${port}`,
        '/srv/shop': root,
        'http://127.0.0.1:8080': raven.url,
        '/Shop/': `/${raven.database}/`,
      })
      writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`)
      return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
    },
    { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
  )
}

const PROXIES: [string, Program, (raven: Raven, root: string) => Promise<string>][] = [
  [`nginx${unless(nginx)}`, nginx, openNginx],
  [`Caddy${unless(caddy)}`, caddy, openCaddy],
]
const SERVERS: [string, boolean, () => Promise<Raven>][] = [
  ['a server without grant tokens', false, openPlain],
  [`RavenDB${unlessRaven}`, ravenMissing !== undefined, openReal],
]

describe.each(PROXIES)('behind %s', (_, program, open) => {
  describe.each(SERVERS)('%s', (_, isMissing, openServer) => {
    test.skipIf(isMissing || !program.find())(
      'a page has its ids, gives back what it does not need, and reaches nothing else',
      async () => {
        const raven = await openServer()
        const origin = await open(raven, await writeSite())
        const options = JSON.stringify({ url: '/', database: raven.database })
        const url = `${origin}/?options=${encodeURIComponent(options)}`

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
          `/databases/${raven.database}/docs?id=Raven/Hilo/orders`,
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
})
