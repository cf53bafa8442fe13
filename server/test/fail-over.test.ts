/**
 * The ledger on a PostgreSQL that fails over, again and again, under load: no number twice, and a
 * claim that is repeated gets the same grant.
 */
import { expect, onTestFinished, test } from 'vitest'
import { patroni, unless } from '../../test/support/programs.js'
import { isFull, seed, sizeOf } from '../../test/support/sizes.js'
import { serve } from '../src/index.js'
import { startEtcd } from './addons/region/etcd-cluster.js'
import { overlaps, seededRandom, startDevices, TAGS } from './devices.js'
import { startPatroni } from './patroni.js'

const KILLS = Math.ceil(sizeOf('KILLS') / 10)
const DEVICES = 64
const SEED = seed()
const TIMEOUT = 120_000 + KILLS * 120_000

const leftOut = isFull ? unless(patroni) : ' (left out: CI=true runs it)'

test.skipIf(leftOut !== '')(
  `a Patroni cluster whose primary is killed again and again${leftOut}`,
  { timeout: TIMEOUT },
  async () => {
    const etcd = await startEtcd(1)
    const cluster = await startPatroni(etcd.urls[0]!)
    const server = await serve({
      create: true,
      port: 0,
      databaseUrl: cluster.url,
      log: { info() {}, error() {} },
    })
    onTestFinished(() => server.close({ drain: 0 }))
    const devices = startDevices(DEVICES, {
      url: async () => server.url,
      random: seededRandom(SEED),
    })
    for (let kill = 0; kill < KILLS; kill++) {
      await devices.answered(500)
      const killed = await cluster.killPrimary()
      // The next health is asked of a server without a primary.
      expect((await fetch(`${server.url}/healthz`)).status).toBe(503)
      await cluster.hasPrimary()
      await devices.answered(DEVICES)
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
      await cluster.start(killed)
      await cluster.hasPrimary()
    }
    await devices.stop()
    expect(devices.faults, `TEST_SEED=${SEED}`).toEqual([])
    for (const tag of TAGS) expect(overlaps(devices.heldOf(tag)), `TEST_SEED=${SEED}`).toEqual([])
  },
)
