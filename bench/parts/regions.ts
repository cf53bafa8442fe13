/**
 * What a region saves when its root is far away, and how much of a large fleet's day reaches each
 * level.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRandom } from '../../test/simulation/random.js'
import { farFrom } from '../far.js'
import type { Context, Part } from '../part.js'
import { type Fleet, regionDay } from '../region-day.js'
import { type BenchServer, claimer, type Limit, load, startServer } from '../server.js'
import { count, figure, table, times } from '../text.js'

const DISTANCES_MS = [0, 20, 80]
const CONNECTIONS = 64
const FLEET: Fleet = {
  devices: 1_000_000,
  regions: 10,
  idsPerDay: 100,
  deviceReserve: 200,
  regionReserve: 1_000_000,
}
/** The device or region may have just half of its reserve when the outage begins. */
const WORST = 2

export const regions: Part = {
  name: 'regions',
  title: 'Regions: claims near the devices, and a day of a large fleet',
  measures: ['src', 'server/src'],
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), 'hilo-bench-regions-'))
    try {
      await distances(context, folder)
      day(context)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function distances({ isQuick, print, goal }: Context, folder: string): Promise<void> {
  const limit: Limit = isQuick ? { count: 200 } : { seconds: 5 }
  const rows: string[][] = []
  let perRootClaim = Number.POSITIVE_INFINITY
  for (const ms of DISTANCES_MS) {
    const root = await startServer({ dataDir: join(folder, `root${ms}`) })
    const far = await farFrom(root.url, ms)
    const region = await startServer({
      dataDir: join(folder, `region${ms}`),
      upstream: { url: far.url },
    })
    try {
      const measure = async (url: string) => {
        const { claim, close } = claimer(url, CONNECTIONS, 1)
        try {
          await load(CONNECTIONS, claim, limit)
          return await load(CONNECTIONS, claim, limit)
        } finally {
          await close()
        }
      }
      const near = await measure(region.url)
      const [below, above] = [await claimsAt(region), await claimsAt(root)]
      perRootClaim = Math.min(perRootClaim, below / above)
      const direct = await measure(far.url)
      rows.push([
        `${ms} ms`,
        times(near.perSecond / direct.perSecond),
        count(near.perSecond),
        count(direct.perSecond),
        `${figure(near.p50)} ms`,
        `${figure(direct.p50)} ms`,
        `${figure(near.p99)} ms`,
        count(below / above),
      ])
    } finally {
      await region.stop()
      await far.close()
      await root.stop()
    }
  }
  print(
    table(
      [
        'to the root and back',
        'region, beside direct',
        'region, claims/s',
        'direct, claims/s',
        'region p50',
        'direct p50',
        'region p99',
        'claims per claim at the root',
      ],
      rows,
    ),
  )
  goal('claims at a region per claim at its root, under load', '≥ 1,000', count(perRootClaim))
}

/** As the server's own metrics count them. */
async function claimsAt({ url }: BenchServer): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^hilo_grants_total (\d+)/m.exec(text)![1])
}

function day({ isQuick, print }: Context): void {
  const fleet = isQuick ? { ...FLEET, devices: 10_000, regionReserve: 10_000 } : FLEET
  const day = regionDay(fleet, createRandom(1))
  print(
    table(
      [`${count(fleet.devices)} devices, ${fleet.regions} regions, one day`, ''],
      [
        ['ids made', count(day.ids)],
        ['claims at the regions', count(day.claimsAtRegions)],
        ['claims at the root', count(day.claimsAtRoot)],
        ['largest range the root granted', count(day.largest)],
        ['numbers that the regions hold at the end', count(day.held)],
        ['busiest hour of a region, numbers', count(day.busiestHour)],
        ['reserve of a region that survives it alone', count(WORST * day.busiestHour)],
        ['reserve of a device that survives its hour alone', count(WORST * day.deviceHour)],
      ],
    ),
  )
}
