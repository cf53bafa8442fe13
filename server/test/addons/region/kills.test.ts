/**
 * A root and three regions as processes, killed one after another while devices claim at the
 * regions: no number twice, and every gap is what a killed region had just taken.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import type { DeviceState } from '../../../../src/device/state.js'
import { seed, sizeOf } from '../../../../test/support/sizes.js'
import { overlaps, seededRandom, startDevices, TAGS } from '../../devices.js'
import { newFolder } from '../../folders.js'
import { type ServerProcess, startProcess } from '../../processes.js'

const KILLS = 2 * sizeOf('KILLS')
const SEED = seed()
const REGIONS = 3
const DEVICES = 24
const ANSWERS_PER_ROUND = 150

/** A server that is killed and comes back at its address, on its ledger. */
async function newPlace(config: object) {
  const folder = newFolder()
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify({ ...config, data: join(folder, 'data') }))
  const start = (port: string) => startProcess(['--config', file, '--port', port])
  let server: Promise<ServerProcess> = start('0')
  const port = new URL((await server).url).port
  return {
    data: join(folder, 'data'),
    url: async () => (await server).url,
    async restart() {
      const killed = await server
      server = killed.kill().then(() => start(port))
      await server
    },
    stop: async () => (await server).stop(),
  }
}

type Span = [low: number, high: number]

/** Numbers that a ledger granted, or has at hand. */
function accounted(data: string, tag: string): Span[] {
  const db = new DatabaseSync(join(data, 'hilo.db'))
  const all = <Row>(sql: string) => db.prepare(sql).all(tag) as Row[]
  const grants = all<{ low: number; high: number }>(
    'SELECT low, high FROM hilo_grants WHERE collection = ? AND high >= low',
  )
  const stocks = all<{ free: string; fresh: string }>(
    'SELECT free, fresh FROM hilo_collections WHERE collection = ?',
  )
  const devices = all<{ state: string }>(
    `SELECT state FROM hilo_devices WHERE key = '["root","shop","' || ? || '/"]'`,
  )
  db.close()
  return [
    ...grants.map(({ low, high }): Span => [low, high]),
    ...stocks.flatMap(({ free, fresh }): Span[] => [...JSON.parse(free), ...JSON.parse(fresh)]),
    ...devices.flatMap(({ state }) => {
      const { ranges, offers } = JSON.parse(state) as DeviceState
      return [...ranges, ...offers.map(({ range }) => range)].map(
        ({ from, to }): Span => [from, to],
      )
    }),
  ]
}

/** What `spans` leave out of the numbers up to `max`. */
function holes(spans: readonly Span[], max: number): Span[] {
  const found: Span[] = []
  let next = 1
  for (const [low, high] of spans.toSorted(([a], [b]) => a - b)) {
    if (low > next) found.push([next, low - 1])
    next = Math.max(next, high + 1)
  }
  return next > max ? found : [...found, [next, max]]
}

test('a killed root, and killed regions', { timeout: 60_000 + KILLS * 20_000 }, async () => {
  const random = seededRandom(SEED)
  const root = await newPlace({})
  const regions = await Promise.all(
    Array.from({ length: REGIONS }, async () =>
      newPlace({ upstream: { url: await root.url(), reserve: 2_000 } }),
    ),
  )
  const devices = startDevices(DEVICES, {
    url: (device) => regions[Math.floor(device / 2) % REGIONS]!.url(),
    random,
  })
  for (let kill = 0; kill < KILLS; kill++) {
    await devices.answered(ANSWERS_PER_ROUND)
    await [root, ...regions][kill % (REGIONS + 1)]!.restart()
  }
  await devices.answered(DEVICES)
  await devices.stop()
  expect(devices.faults, `TEST_SEED=${SEED}`).toEqual([])
  for (const tag of TAGS) expect(overlaps(devices.heldOf(tag)), `TEST_SEED=${SEED}`).toEqual([])
  for (const place of [...regions, root]) expect(await place.stop()).toBe(0)

  for (const tag of TAGS) {
    const here = regions.flatMap(({ data }) => accounted(data, tag))
    expect(overlaps(here.map(([low, high]) => ({ low, high })))).toEqual([])
    const db = new DatabaseSync(join(root.data, 'hilo.db'))
    const [row] = db
      .prepare('SELECT max, free FROM hilo_collections WHERE collection = ?')
      .all(tag) as {
      max: number
      free: string
    }[]
    db.close()
    const gaps = holes([...here, ...(JSON.parse(row!.free) as Span[])], row!.max)
    expect(gaps.length, `TEST_SEED=${SEED}: ${JSON.stringify(gaps)}`).toBeLessThanOrEqual(KILLS)
  }
})
