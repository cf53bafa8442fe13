/**
 * Servers and databases that are killed while 64 devices claim and give back: no number twice, no
 * claim answered two ways.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seed, sizeOf } from '../../test/support/sizes.js'
import { serve } from '../src/index.js'
import { type Devices, overlaps, seededRandom, startDevices, TAGS } from './devices.js'
import { newFolder } from './folders.js'
import { createDatabase, newDatabase } from './postgres.js'
import { startCluster } from './postgres-cluster.js'
import { startProcess } from './processes.js'

const KILLS = sizeOf('KILLS')
const CLAIMS = sizeOf('CLAIMS')
const SEED = seed()
const DEVICES = 64
const TIMEOUT = 60_000 + KILLS * 20_000 + CLAIMS * 10

const MAX_ANSWERS_PER_ROUND = 300
const random = seededRandom(SEED)
const someAnswers = () => 1 + Math.floor(random() * MAX_ANSWERS_PER_ROUND)

/** An address that comes and goes; who asks for it while it is gone waits. */
function changingUrl() {
  let set: (url: string) => void
  let url: Promise<string>
  const unset = () => {
    url = new Promise((resolve) => {
      set = resolve
    })
  }
  unset()
  return { current: () => url, set: (url: string) => set(url), unset }
}

async function expectNoDuplicate(devices: Devices) {
  await devices.stop()
  expect(devices.faults, `TEST_SEED=${SEED}`).toEqual([])
  for (const tag of TAGS) {
    expect(overlaps(devices.heldOf(tag)), `TEST_SEED=${SEED}`).toEqual([])
    expect(devices.heldOf(tag).length).toBeGreaterThan(KILLS)
  }
}

describe('a killed server', { timeout: TIMEOUT }, () => {
  test.each([
    ['SQLite', async () => ['--data', newFolder()]],
    ['PostgreSQL', async () => ['--database-url', await newDatabase()]],
  ])('%s', async (_, storage) => {
    const args = await storage()
    const url = changingUrl()
    let server = await startProcess(['--port', '0', ...args])
    url.set(server.url)
    const devices = startDevices(DEVICES, { url: url.current, random })
    for (let kill = 0; kill < KILLS; kill++) {
      await devices.answered(someAnswers())
      url.unset()
      await server.kill()
      server = await startProcess(['--port', new URL(server.url).port, ...args])
      url.set(server.url)
    }
    await devices.answered(DEVICES)
    await expectNoDuplicate(devices)
    expect(await server.stop()).toBe(0)
  })
})

test('a PostgreSQL that is stopped at once, under load', { timeout: TIMEOUT }, async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster.remove())
  const server = await serve({
    create: true,
    port: 0,
    databaseUrl: await createDatabase(cluster.url),
    log: { info() {}, error() {} },
  })
  onTestFinished(() => server.close())
  const url = changingUrl()
  url.set(server.url)
  const devices = startDevices(DEVICES, { url: url.current, random })
  for (let kill = 0; kill < KILLS; kill++) {
    await devices.answered(someAnswers())
    url.unset()
    await cluster.stop('immediate')
    await cluster.start()
    url.set(server.url)
  }
  await devices.answered(DEVICES)
  await expectNoDuplicate(devices)
})

test('two servers on one PostgreSQL part the numbers without a gap', {
  timeout: TIMEOUT,
}, async () => {
  const databaseUrl = await newDatabase()
  const args = ['--port', '0', '--database-url', databaseUrl]
  const servers = await Promise.all([startProcess(args), startProcess(args)])
  const devices = startDevices(
    DEVICES,
    { url: async (device) => servers[(device >> 1) % 2]!.url, random },
    { givesBack: false },
  )
  await devices.answered(CLAIMS)
  await devices.stop()
  expect(devices.faults).toEqual([])
  for (const tag of TAGS) {
    const lows = devices.heldOf(tag).map(({ low }) => low)
    expect(lows.sort((a, b) => a - b)).toEqual(lows.map((_, i) => i * 32 + 1))
  }
  await Promise.all(servers.map((server) => server.stop()))
})

const mayLimit = spawnSync('prlimit', ['--fsize']).status === 0
const leftOut = mayLimit ? '' : ' (left out: there is no prlimit)'

test.skipIf(leftOut)(
  `a full disk: nothing is granted, /healthz says so, and with room it goes on${leftOut}`,
  {
    timeout: TIMEOUT,
  },
  async () => {
    const isFull = ['/bin/sh', '-c', 'ulimit -S -f 800; echo $$ >&2; exec "$0" "$@"']
    const server = await startProcess(['--port', '0', '--data', newFolder()], {}, isFull)
    const granted: { low: number; high: number }[] = []
    const claim = async () => {
      const answer = await fetch(`${server.url}/databases/Shop/hilo/next?tag=orders`)
      const { Low, High, Message } = await answer.json()
      if (answer.ok) granted.push({ low: Low, high: High })
      else expect(Message).toContain("The server's database")
      return answer.status
    }
    const health = async () => (await fetch(`${server.url}/healthz`)).status
    expect(await health()).toBe(200)
    await expect.poll(claim, { interval: 0, timeout: TIMEOUT }).toBe(503)
    // What is left of the disk may take a few small writes.
    await expect.poll(health, { interval: 0, timeout: TIMEOUT }).toBe(503)
    for (let i = 0; i < 20; i++) await claim()
    const [pid] = server.log().split('\n')
    execFileSync('prlimit', ['--pid', pid!, '--fsize=unlimited'])
    expect([await health(), await claim(), await claim()]).toEqual([200, 201, 201])
    expect(overlaps(granted)).toEqual([])
    await server.kill()
  },
)
