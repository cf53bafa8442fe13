/** documentSource against real stores: offline-hilo-server, and the WebDAV of lighttpd. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ServeOptions, serve } from '../../server/src/index.js'
import { newFolder } from '../../server/test/folders.js'
import type { Range } from '../../src/core/range.js'
import type { Target } from '../../src/device/contract.js'
import { documentSource } from '../../src/source/index.js'
import { expectNoNumberTwice } from '../support/hostile-relay.js'
import { lighttpd, unless } from '../support/programs.js'
import { runProgram } from '../support/run-program.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }

interface Store {
  url: string
  max(): Promise<number>
}

async function openServer(
  options: Partial<ServeOptions> = {},
): Promise<Store & { origin: string }> {
  const server = await serve({ create: true, port: 0, dataDir: newFolder(), ...options })
  onTestFinished(() => server.close())
  return {
    origin: server.url,
    url: `${server.url}/databases/{database}/docs?id=Raven/Hilo/{collection}`,
    max: async () =>
      (await (await fetch(`${server.url}/databases/Shop/docs?id=Raven/Hilo/orders`)).json())
        .Results[0].Max,
  }
}

async function openWebDav(): Promise<Store> {
  const folder = newFolder()
  const root = join(folder, 'root')
  mkdirSync(root)
  const origin = await runProgram(lighttpd, (port) => {
    const lines = [
      `server.document-root = "${root}"`,
      'server.bind = "127.0.0.1"',
      `server.port = ${port}`,
      'server.modules = ( "mod_webdav" )',
      'webdav.activate = "enable"',
      'mimetype.assign = ( ".json" => "application/json" )',
    ]
    writeFileSync(join(folder, 'lighttpd.conf'), lines.join('\n'))
    return ['-D', '-f', join(folder, 'lighttpd.conf')]
  })
  return {
    url: `${origin}/{collection}.json`,
    max: async () => JSON.parse(readFileSync(join(root, 'orders.json'), 'utf8')).Max,
  }
}

async function rangeOf(source: ReturnType<typeof documentSource>, lastMax = 0): Promise<Range> {
  const answer = await source.claim(target, { id: 'c1', lastBatchSize: 32, lastMax }, 50_000)
  if ('failure' in answer) throw new Error(answer.failure.message)
  return answer.grant.range
}

describe.each<[string, boolean, () => Promise<Store>]>([
  ['offline-hilo-server', false, openServer],
  [`lighttpd${unless(lighttpd)}`, !lighttpd.find(), openWebDav],
])('%s', (_, isAbsent, open) => {
  test.skipIf(isAbsent)('gets its document, which every claim moves up', async () => {
    const { url, max } = await open()
    const source = documentSource({ url })
    expect(await rangeOf(source)).toEqual({ from: 1, to: 32, prefix: 'orders/', serverTag: '' })
    expect(await rangeOf(source)).toMatchObject({ from: 33, to: 64 })
    expect(await rangeOf(documentSource({ url }))).toMatchObject({ from: 65, to: 96 })
    expect(await max()).toBe(96)
  })

  test.skipIf(isAbsent)(
    'gives every number to one device, however many claim at once, also the first time',
    async () => {
      const { url, max } = await open()
      const ranges = (
        await Promise.all(
          Array.from({ length: 6 }, async () => {
            const source = documentSource({ url })
            const taken: Range[] = []
            for (let i = 0; i < 10; i++) taken.push(await rangeOf(source, taken.at(-1)?.to))
            return taken
          }),
        )
      )
        .flat()
        .sort((a, b) => a.from - b.from)
      for (const [i, range] of ranges.entries())
        expect(range.from).toBe(i === 0 ? 1 : ranges[i - 1]!.to + 1)
      expect(await max()).toBe(ranges.at(-1)!.to)
    },
  )

  test.skipIf(isAbsent)(
    'behind a relay that lies gives no number to two devices, and goes on after it',
    async () => {
      const { url } = await open()
      await expectNoNumberTwice(url, target)
    },
  )
})

describe('offline-hilo-server', () => {
  test('sends its prefix in the same answer: orders/NorthServer/1', async () => {
    const { url } = await openServer({ serverPrefix: 'NorthServer/' })
    const asked: string[] = []
    const source = documentSource({
      url,
      key: 'store',
      fetch: (address, init) => {
        asked.push(`${init.method ?? 'GET'} ${new URL(address).search}`)
        return fetch(address, init)
      },
    })
    expect((await rangeOf(source)).prefix).toBe('orders/NorthServer/')
    expect(asked.filter((each) => each.startsWith('GET'))).toEqual([
      'GET ?id=Raven/Hilo/orders&id=Raven/ServerPrefixForHilo',
    ])
  })

  test('never grants one number twice to claims and to document writes', async () => {
    const { url, origin } = await openServer()
    const source = documentSource({ url })
    const next = async () =>
      (await (await fetch(`${origin}/databases/Shop/hilo/next?tag=orders`)).json()).Low
    expect([
      (await rangeOf(source)).from,
      await next(),
      (await rangeOf(source)).from,
      await next(),
    ]).toEqual([1, 33, 65, 97])
  })
})
