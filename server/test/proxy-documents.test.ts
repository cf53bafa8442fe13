/**
 * Every configuration of a proxy in the documents, as it stands there, in front of a server that
 * compares the origin of the page that asks: its own pages may ask, and no others.
 */
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blocksOf } from '../../test/docs/blocks.js'
import { caddy, nginx, unless } from '../../test/support/programs.js'
import { runProgram } from '../../test/support/run-program.js'
import { newFolder } from './folders.js'
import { startProcess } from './processes.js'
import { askAt, newCertificate, nginxWith } from './proxies.js'

const DOCS = join(import.meta.dirname, '../../docs')
const HOST = 'shop.example.com'

const CONFIGURATIONS = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .sort()
  .flatMap((path) =>
    blocksOf(readFileSync(join(DOCS, path), 'utf8'))
      .filter(({ text }) => /^\s*(location .*)?(proxy_pass|reverse_proxy) /m.test(text))
      .map(({ text }) => ({ path, text, program: text.includes('proxy_pass') ? nginx : caddy })),
  )

test('they are these', () => {
  expect(CONFIGURATIONS.map(({ path, program }) => `${path} ${program.name}`)).toEqual([
    'ravendb.md nginx',
    'ravendb.md caddy',
    'scaling.md nginx',
    'tutorial.md caddy',
  ])
})

/** Arguments of nginx, with the block at that port. */
const nginxArguments = (block: string, port: number): string[] =>
  nginxWith(block.replace(/listen 80\b/, `listen 127.0.0.1:${port}`))

/** Arguments of Caddy, with the block at that port. */
function caddyArguments(block: string, port: number): string[] {
  const { cert, key } = newCertificate(HOST)
  const tls = block.startsWith('http:') ? '' : `\ttls ${cert} ${key}\n`
  const site = block.replace(`${HOST} {\n`, `${HOST}:${port} {\n\tbind 127.0.0.1\n${tls}`)
  const file = join(newFolder(), 'Caddyfile')
  writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
  return ['run', '--adapter', 'caddyfile', '--config', file]
}

/** Ways to `Other` past a rule for the admitted one, if proxy and server read them in two ways. */
const oddPaths = (admitted: string): string[] =>
  [
    `${admitted}/../Other`,
    `${admitted}/%2e%2e/Other`,
    `${admitted}/.%2E/Other`,
    `${admitted}//../Other`,
    `${admitted}//../../Other`,
    `${admitted}/\\..\\..\\Other`,
    `${admitted}%2f..%2fOther`,
    `${admitted}/..%2fOther`,
    `${admitted}/..%5cOther`,
    `${admitted}%2f%2e%2e%2fOther`,
    `/${admitted}/../Other`,
    `Other/hilo/next/../../../${admitted}`,
    `Other%2f..%2f${admitted}`,
    `Other%00/../${admitted}`,
    `Other/`,
    `%4fther`,
    `other`,
  ].map((name) => `/databases/${name}/hilo/next?tag=orders`)

/** As it is written: fetch would read the path itself. */
async function sendAsIs(url: string, path: string): Promise<number> {
  const { protocol, port } = new URL(url)
  const [from, own] = protocol === 'https:' ? [https, { servername: HOST }] : [http, {}]
  const options = { host: '127.0.0.1', port, path, headers: { Host: HOST }, ...own }
  const asked = from.request({ ...options, rejectUnauthorized: false } as object)
  const [answer] = (await once(asked.end(), 'response')) as [http.IncomingMessage]
  answer.resume()
  return answer.statusCode!
}

describe.each(CONFIGURATIONS)('$path, $program.title', ({ path, text, program }) => {
  test.skipIf(!program.find())(
    `pages of its own origin may ask, others may not${unless(program)}`,
    async () => {
      const server = await startProcess(['--port', '0', '--data', newFolder()], {
        HILO_HOSTS: HOST,
        HILO_OPEN: 'true',
      })
      const block = text
        .replace(/127\.0\.0\.1:80\d\d/g, new URL(server.url).host)
        .replace('/srv/shop', newFolder())
      const configure = program === nginx ? nginxArguments : caddyArguments
      const { port } = new URL(
        await runProgram(program, (port) => configure(block, port), {
          XDG_DATA_HOME: newFolder(),
          XDG_CONFIG_HOME: newFolder(),
        }),
      )
      const isHttps = program === caddy && !block.startsWith('http:')
      const site = `${isHttps ? 'https' : 'http'}://${HOST}:${port}`
      const ask = askAt(site)
      const database = /\/databases\/(\w+)/.exec(block)?.[1] ?? 'Shop'
      const statusesFor = async (Origin: string) => {
        const headers = { Origin }
        const next = await ask(`/databases/${database}/hilo/next?tag=orders`, { headers })
        const invoices = `/databases/${database}/identity/next?name=invoices`
        const invoice = await ask(invoices, { method: 'POST', headers })
        return [next.status, invoice.status]
      }
      expect(await statusesFor(site)).toEqual([201, 200])
      expect(await statusesFor('https://evil.example')).toEqual([403, 403])
      if (!block.includes(`/databases/${database}`)) return
      for (const odd of oddPaths(database)) await sendAsIs(site, odd)
      const counter = '/databases/Other/docs?id=Raven/Hilo/orders'
      expect(await sendAsIs(server.url, counter), 'nobody has claimed of it').toBe(404)
      expect(await sendAsIs(server.url, '/databases/Other/hilo/next?tag=orders')).toBe(201)
      expect(await sendAsIs(server.url, counter)).toBe(200)
      // A RavenDB asks nobody for a token: pages reach ranges and identities of one database only.
      if (path !== 'ravendb.md') return
      for (const other of [`/databases/${database}/docs?id=Raven/Hilo/orders`, '/metrics'])
        expect((await ask(other)).status, other).toBe(404)
      expect((await ask('/databases/Other/hilo/next?tag=orders')).status).toBe(404)
    },
  )
})
