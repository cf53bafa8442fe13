/** Who is answered where nobody is asked for a token. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHiloHandler, type HandlerOptions, openLedger } from '../src/index.js'
import { type ServeOptions, serve } from '../src/serve.js'
import { readConfig } from '../src/settings.js'
import { newFolder } from './folders.js'
import { runCli } from './run-cli.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const TOKENS = { tokens: ['correct-horse-battery'], databases: ['Shop'] }
const log = { error() {}, info() {}, warn() {} }

async function start(options: ServeOptions) {
  const dataDir = newFolder()
  const server = await serve({ create: true, port: 0, dataDir, log, ...options })
  onTestFinished(() => server.close())
  const { port } = new URL(server.url)
  /** The status for a claim that names this host. */
  return async (name: string): Promise<number> => {
    const asked = request({ host: '127.0.0.1', port, path: NEXT, headers: { Host: name } })
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode!
  }
}

describe('a server without tokens', () => {
  test.each(['0.0.0.0', '::', '10.0.0.7', 'ids.example.com', '128.0.0.1'])(
    'does not start on %s, and says what to do',
    async (host) => {
      const starting = serve({ port: 0, dataDir: newFolder(), create: true, log, host })
      await expect(starting).rejects.toThrow(
        /^host is .*, and there are no tokens: .*tokens .*--open/,
      )
    },
  )

  test('is refused by the command, too, which leaves no ledger behind', async () => {
    const data = join(newFolder(), 'data')
    const { code, stderr } = await runCli(['--host', '0.0.0.0', '--data', data, '--first'])
    expect(code).toBe(1)
    expect(stderr).toContain('host is 0.0.0.0, and there are no tokens')
    expect(existsSync(data)).toBe(false)
  })

  test.each([
    ['prot', { prot: 1 }, /Unrecognized key: "prot"\. Did you mean port\?/],
    ['tokens', { tokens: [] }, /tokens/],
    ['horizon', { horizon: 1 }, /horizon/],
    ['a port that would be a pipe', { port: 'abc' }, /port: has to be a number/],
    ['a port that is none', { port: 65_536 }, /port: has to be 0 to 65535; 0 picks a free one/],
    ['limits', { limits: { btach: 1 } }, /btach/],
  ])('a wrong option is named, and no ledger is left behind: %s', async (_, wrong, message) => {
    const dataDir = join(newFolder(), 'data')
    const starting = serve({ port: 0, dataDir, create: true, log, ...(wrong as ServeOptions) })
    await expect(starting).rejects.toThrow(message)
    expect(existsSync(dataDir)).toBe(false)
  })

  test('answers on this machine only under the names of this machine', async () => {
    const statusOf = await start({ hosts: ['shop.localhost'], publicUrl: 'http://localhost:8080' })
    for (const name of ['localhost', '127.0.0.1:8080', '[::1]:8080', 'shop.localhost:5173'])
      expect(await statusOf(name), name).toBe(201)
    for (const name of ['evil.lan', 'localhost.evil.lan', 'x'])
      expect(await statusOf(name), name).toBe(403)
  })

  test.each<[string, ServeOptions]>([
    ['hosts is till.lan', { hosts: ['localhost', 'till.lan'] }],
    ['hosts is ids.example.com:443', { hosts: ['ids.example.com:443'] }],
    ['publicUrl is https://ids.example.com', { publicUrl: 'https://ids.example.com' }],
  ])('does not start for a name that leads here from elsewhere: %s', async (what, options) => {
    const dataDir = join(newFolder(), 'data')
    const starting = serve({ port: 0, dataDir, create: true, log, ...options })
    await expect(starting).rejects.toThrow(`${what}, and there are no tokens: `)
    expect(existsSync(dataDir)).toBe(false)
  })

  test.each<[string, ServeOptions]>([
    ['that is open', { open: true }],
    ['that is open to every network', { open: true, host: '0.0.0.0' }],
    ['whose application decides', { databases: 'any', authorize: () => true, host: '0.0.0.0' }],
  ])('%s answers under every name', async (_, options) => {
    expect(await (await start(options))('anything.lan')).toBe(201)
  })

  test('answers only under the hosts that are listed, also where it is open', async () => {
    const statusOf = await start({ open: true, hosts: ['ids.lan'] })
    expect([await statusOf('ids.lan'), await statusOf('evil.lan')]).toEqual([201, 403])
  })
})

describe('a handler in a server of the app', () => {
  async function newStatusOf(options: Omit<HandlerOptions, 'ledger'>) {
    const ledger = await openLedger({ create: true, dataDir: newFolder() })
    onTestFinished(() => ledger.close())
    const handle = createHiloHandler({ ledger, log, ...options })
    return async (host: string): Promise<number> =>
      (await handle(new Request(`http://x${NEXT}`, { headers: { Host: host } }))).status
  }

  test.each<[string, Omit<HandlerOptions, 'ledger'>]>([
    ['Nobody has said who may ask', {}],
    ['Nobody has said who may ask', { hosts: ['localhost'] }],
    ['Nobody has said who may ask', { open: false, databases: ['Shop'] }],
    ['Nobody has said who may ask', { tokens: undefined, authorize: undefined }],
    ['host is 0.0.0.0', { host: '0.0.0.0' }],
    ['host is ::', { host: '::' }],
    ['hosts is ids.lan', { host: 'localhost', hosts: ['ids.lan'] }],
  ])('is not made where nobody says who may ask: %s %j', async (what, options) => {
    await expect(newStatusOf(options)).rejects.toThrow(
      new RegExp(`^${what}, and there are no tokens: .* tokens or authorize.* "?open"?: true`),
    )
  })

  test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.0.0.2', '127.1', '::1', '[::1]'])(
    'of a server that listens on %s answers under the names of this machine',
    async (host) => {
      const statusOf = await newStatusOf({ host })
      for (const name of ['localhost:3000', '127.0.0.1', '[::1]:3000'])
        expect(await statusOf(name), name).toBe(201)
      expect(await statusOf('ids.lan')).toBe(403)
    },
  )

  test.each<[string, number, Omit<HandlerOptions, 'ledger'>]>([
    ['that is open', 201, { open: true }],
    ['whose application decides', 201, { authorize: () => true, databases: 'any' }],
    ['with tokens', 403, { ...TOKENS }],
    ['with tokens that may change', 403, { ...TOKENS, tokens: () => TOKENS.tokens }],
  ])('%s is made, wherever its server listens', async (_, status, options) => {
    expect(await (await newStatusOf({ host: '0.0.0.0', ...options }))('ids.lan')).toBe(status)
    expect(await (await newStatusOf(options))('ids.lan')).toBe(status)
  })
})

test('a server with tokens listens on every network, and asks for one', async () => {
  expect(await (await start({ ...TOKENS, host: '0.0.0.0' }))('ids.lan')).toBe(403)
})

test('open is true or false', () => {
  expect(readConfig({ open: 'true' }).open).toBe(true)
  expect(readConfig({ open: 'false' }).open).toBe(false)
  expect(() => readConfig({ open: 'yes' }, { open: 'HILO_OPEN' })).toThrow(
    'HILO_OPEN: has to be true or false',
  )
})
