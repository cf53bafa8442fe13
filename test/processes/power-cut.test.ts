/**
 * Power cuts: every process on a file is killed at once, and what was not synced is lost. A
 * preloaded library knows what was synced, so this needs Linux and a C compiler.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { serve } from '../../server/src/index.js'
import { sizeOf } from '../support/sizes.js'
import { RUNTIMES, type Runtime } from './runtimes.js'
import { bundle, newFolder, read, startTill, type Till } from './tills.js'

const canCompile = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0
const leftOut = canCompile ? '' : ' (left out: it needs Linux and a C compiler)'

const folder = mkdtempSync(join(tmpdir(), 'hilo-power-'))
const library = join(folder, 'power-cut.so')
/** The library copies what is synced, so a file that grows takes longer and longer. */
const SERIES_CUTS = Math.min(sizeOf('KILLS'), 5)
const PATIENCE = 60_000 + 10_000 * sizeOf('KILLS')
let till: string
let register: string

beforeAll(async () => {
  if (!canCompile) return
  const source = join(import.meta.dirname, 'power-cut.c')
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'])
  till = await bundle('till', read('test/processes/till.ts'))
  register = await bundle('register', read('test/processes/register.ts'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Kills them all, and leaves of the files what was synced. */
async function cutPower(disk: string, tills: readonly Till[]): Promise<void> {
  for (const each of tills) each.kill('SIGKILL')
  await Promise.all(tills.map(({ ended }) => ended))
  const files = readdirSync(disk)
  for (const file of files.filter((each) => !/\.synced$/.test(each))) rmSync(join(disk, file))
  // What is on the disk now stays there, also where nobody has it synced again.
  for (const file of files.filter((each) => /\.synced$/.test(each)))
    copyFileSync(join(disk, file), join(disk, file.replace(/\.synced$/, '')))
}

/** A device whose power is cut again and again, and the server that it knows. */
async function newDevice({ command, driver }: Runtime) {
  const disk = newFolder()
  const server = await serve({ create: true, port: 0, dataDir: join(folder, crypto.randomUUID()) })
  onTestFinished(() => server.close())
  const start = (count: number | 'report' = Number.POSITIVE_INFINITY, program = till) =>
    startTill({ command }, [program, driver, join(disk, 'ids.db'), server.url, String(count)], {
      env: { LD_PRELOAD: library, TEST_DISK: disk },
    })
  return { disk, server, start }
}

describe.each(RUNTIMES.map((each) => [each.title + (leftOut || each.leftOut), each] as const))(
  '%s',
  (_, runtime) => {
    const run = test.skipIf(leftOut || runtime.leftOut)
    run('no id comes back after a power cut', { timeout: PATIENCE }, async () => {
      const { disk, server, start } = await newDevice(runtime)
      const ids: string[] = []
      for (let cuts = 0; cuts < sizeOf('KILLS'); cuts++) {
        const tills = [start(), start()]
        await Promise.all(tills.map((each, i) => each.printed(10 * (cuts + 1) + 7 * i)))
        await cutPower(disk, tills)
        ids.push(...tills.flatMap((each) => each.ids))
      }
      const online = start(1)
      await online.ended
      await cutPower(disk, [online])
      await server.close()
      // What it holds was synced, so it is there without the server, too.
      const offline = start(10)
      await offline.ended
      expect(offline.ids).toHaveLength(10)
      ids.push(...online.ids, ...offline.ids)
      expect(new Set(ids).size).toBe(ids.length)
    })

    run('a series is whole after a power cut', { timeout: PATIENCE }, async () => {
      const { disk, start } = await newDevice(runtime)
      const printed: string[] = []
      for (let cuts = 0; cuts < SERIES_CUTS; cuts++) {
        const tills = [
          start(Number.POSITIVE_INFINITY, register),
          start(Number.POSITIVE_INFINITY, register),
        ]
        await Promise.all(tills.map((each, i) => each.printed(10 + 7 * i)))
        await cutPower(disk, tills)
        printed.push(...tills.flatMap((each) => each.ids))
      }
      const last = start('report', register)
      await last.ended
      const { broken, series } = JSON.parse(last.ids[0]!)
      expect(broken).toEqual([])
      const numbers: { id: string; number: number; key: string }[] = series[0].numbers
      expect(numbers.map(({ number }) => number)).toEqual(numbers.map((_, i) => i + 1))
      const ofKeys = numbers.map(({ key, id }) => `${key}=${id}`)
      expect(ofKeys).toEqual(expect.arrayContaining(printed))
      expect(new Set(printed).size).toBe(printed.length)
      // What was taken and not printed is there, with its key, to be looked for.
      expect(numbers.length - printed.length).toBeLessThanOrEqual(2 * SERIES_CUTS)
    })
  },
)

/** The till of the tests, with a connection that only says that it waits for the disk. */
const CARELESS = read('test/processes/till.ts').replace(
  'sqliteStore({ database })',
  `sqliteStore({
    database: {
      prepare: (sql) =>
        database.prepare(
          sql === 'PRAGMA synchronous'
            ? 'SELECT 2'
            : sql.replace('synchronous = FULL', 'synchronous = OFF'),
        ),
    },
  })`,
)

test.skipIf(leftOut)(`ids that were not synced do come back${leftOut}`, async () => {
  const { disk, server, start } = await newDevice(RUNTIMES[0]!)
  const first = start(1)
  await first.ended
  // Online, the next check-in would find that the device is an older one.
  await server.close()
  const careless = start(10, await bundle('careless', CARELESS))
  await careless.printed(10)
  await cutPower(disk, [first, careless])
  const last = start(10)
  await last.printed(10)
  expect(last.ids).toEqual(careless.ids)
})
