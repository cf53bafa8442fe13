/**
 * Apps outside of a browser, for real: processes of Node, Bun and Deno on SQLite files, beside the
 * real server.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type HiloServer, serve } from '../../server/src/index.js'
import { createHilo } from '../../src/index.js'
import { MemoryStore } from '../../src/store/memory.js'
import { blocksOf } from '../docs/blocks.js'
import { sizeOf } from '../support/sizes.js'
import { RUNTIMES, type Runtime } from './runtimes.js'
import { bundle, newFolder, read, startTill, type Till } from './tills.js'

const folder = mkdtempSync(join(tmpdir(), 'hilo-tills-server-'))
let server: HiloServer
let till: string

beforeAll(async () => {
  till = await bundle('till', read('test/processes/till.ts'))
  server = await serve({ create: true, port: 0, dataDir: folder })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** @param count of ids; without one, it goes on until it is killed */
const start = (runtime: Runtime, file: string, count = Number.POSITIVE_INFINITY): Till =>
  startTill(runtime, [till, runtime.driver, file, server.url, String(count)])

const allOf = (tills: readonly Till[]): string[] => tills.flatMap(({ ids }) => ids)

/** Killed as soon as it has made so many ids, and followed by another one. @returns all of them */
async function storm(runtime: Runtime, file: string): Promise<Till[]> {
  const tills: Till[] = []
  for (let kills = 0; kills < sizeOf('KILLS'); kills++) {
    const next = start(runtime, file)
    tills.push(next)
    await next.printed(10 * (kills + 1))
    next.kill('SIGKILL')
    await next.ended
  }
  return tills
}

/** How the documentation imports and opens each driver; the first of them is in its till. */
const OPENINGS = blocksOf(read('docs/processes.md'))
  .filter(({ language }) => language === 'javascript')
  .map(({ text }) => text.split('\n') as [imported: string, opened: string])

function shopWith({ driver }: Runtime): string {
  const [[imported, opened]] = OPENINGS as [(typeof OPENINGS)[number]]
  const own = OPENINGS.find(([line]) => driver.includes(/'(.*)'/.exec(line)![1]!))!
  const shop = read('examples/till.mjs')
  expect(shop).toContain(imported)
  expect(shop).toContain(opened)
  return shop
    .replace(imported, own[0])
    .replace(opened, own[1])
    .replace("'better-sqlite3'", `'${driver}'`)
}

const named = RUNTIMES.map((each) => [each.title + each.leftOut, each] as const)

describe.each(named)('%s', (_, runtime) => {
  const { leftOut } = runtime

  test.skipIf(leftOut)(
    'a process that has nothing left to do ends, also without close',
    async () => {
      const file = join(newFolder(), 'ids.db')
      const first = start(runtime, file, 20)
      expect(await first.ended).toEqual({ code: 0, stderr: '' })
      const second = start(runtime, file, 20)
      await second.ended
      expect(new Set(allOf([first, second])).size).toBe(40)
    },
  )

  test.skipIf(leftOut)(
    'processes on one file that are killed never make one id twice',
    async () => {
      const file = join(newFolder(), 'ids.db')
      const storms = await Promise.all([storm(runtime, file), storm(runtime, file)])
      const ids = allOf(storms.flat())
      expect(new Set(ids).size).toBe(ids.length)
    },
  )

  test.skipIf(leftOut)(
    'the till of the documentation goes on without a gap after SIGTERM',
    async () => {
      const program = await bundle(`shop-${RUNTIMES.indexOf(runtime)}`, shopWith(runtime))
      const cwd = newFolder()
      const sell = async (): Promise<string[]> => {
        const sold: string[] = []
        const env = { HILO_URL: `${server.url}`, PORT: '0' }
        const running = startTill(runtime, [program], { cwd, env })
        await running.printed(1)
        for (let i = 0; i < 3; i++) sold.push(await (await fetch(running.ids[0]!)).text())
        running.kill('SIGTERM')
        expect(await running.ended).toEqual({ code: 0, stderr: '' })
        return sold
      }
      const numbers = [...(await sell()), ...(await sell())].map((id) => Number(/\d+/.exec(id)![0]))
      expect(numbers).toEqual(Array.from({ length: 6 }, (_, i) => numbers[0]! + i))
    },
  )
})

test('the receipts of the documentation survive kill -9, each of them once', async () => {
  const [runtime] = RUNTIMES as [Runtime]
  const text = read('examples/receipts.mjs').replace("'node:sqlite'", `'${runtime.driver}'`)
  const program = await bundle('receipts', text)
  const cwd = newFolder()
  const printed: string[] = []
  for (let kills = 0; kills <= sizeOf('KILLS'); kills++) {
    const running = startTill(runtime, [program], { cwd, env: { HILO_URL: server.url } })
    await running.printed(kills + 1)
    running.kill('SIGKILL')
    await running.ended
    printed.push(...running.ids)
    // As when the power goes in the middle of a line.
    appendFileSync(join(cwd, 'receipts.txt'), 'A-00')
  }
  const stored = readFileSync(join(cwd, 'receipts.txt'), 'utf8').split('\n').slice(0, -1)
  for (const line of stored) expect(line).toMatch(/^A-\d{6} [\da-f-]{36}$/)
  const ids = stored.map((line) => line.split(' ')[0]!)
  expect(ids).toEqual(ids.map((_, i) => `A-${String(i + 1).padStart(6, '0')}`))
  expect(ids).toEqual(expect.arrayContaining(printed))
})

test('all of them on one file, beside another device, share one counter', async () => {
  const file = join(newFolder(), 'ids.db')
  const hilo = createHilo({ url: server.url, database: 'Shop', store: new MemoryStore() })
  onTestFinished(() => hilo.close())
  const usable = RUNTIMES.filter(({ leftOut }) => leftOut === '')
  const tills = usable.map((runtime) => start(runtime, file, 50))
  const elsewhere = hilo.nextIds('orders', 200)
  for (const each of tills) expect(await each.ended).toEqual({ code: 0, stderr: '' })
  const ids = [...allOf(tills), ...(await elsewhere)]
  expect(new Set(ids).size).toBe(50 * usable.length + 200)
})
