/** Who is answered where nobody is asked for a token. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
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
      await expect(starting).rejects.toThrow(/there are no tokens: .*tokens .*--open/)
    },
  )

  test('is refused by the command, too, which leaves no ledger behind', async () => {
    const data = join(newFolder(), 'data')
    const { code, stderr } = await runCli(['--host', '0.0.0.0', '--data', data, '--first'])
    expect(code).toBe(1)
    expect(stderr).toContain('host is 0.0.0.0, and there are no tokens')
    expect(existsSync(data)).toBe(false)
  })

  test('answers on this machine only under its own names', async () => {
    const statusOf = await start({ hosts: ['till.lan'], publicUrl: 'https://ids.example.com' })
    for (const name of ['localhost', '127.0.0.1:8080', '[::1]:8080', 'till.lan', 'ids.example.com'])
      expect(await statusOf(name), name).toBe(201)
    for (const name of ['evil.lan', 'localhost.evil.lan', 'x'])
      expect(await statusOf(name), name).toBe(403)
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
