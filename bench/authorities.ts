/** Who grants numbers to this package in the fleet's day: the HiLo server, or a RavenDB. */
import { rmSync } from 'node:fs'
import { createHiloHandler, openLedger } from '../server/src/index.js'
import type { HiloOptions } from '../src/device/hilo-options.js'
import { SimulatedRequest } from '../test/simulation/http.js'
import type { Reply, Request as SentRequest } from '../test/simulation/network.js'
import { RavenModel } from '../test/simulation/raven-model.js'
import { makeFolder } from '../test/simulation/sqlite-storage.js'

export interface Authority {
  /** Of the app. */
  options: HiloOptions
  handle(request: SentRequest): Promise<Reply>
  /** Numbers that were granted, without those that came back. */
  outstanding(): Promise<number>
  close(): Promise<void>
}

export async function hiloServer(reserve?: number): Promise<Authority> {
  const dataDir = makeFolder()
  const ledger = await openLedger({ create: true, dataDir })
  const handler = createHiloHandler({ ledger, open: true })
  return {
    options: appOf(reserve),
    async handle({ method, url, headers, body }) {
      const request = new SimulatedRequest(method, url.href, headers, body)
      const response = await handler(request as unknown as Request)
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      }
    },
    outstanding: async () => (await ledger.status())[0]?.outstanding ?? 0,
    async close() {
      await ledger.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The simulation's model of it: it grants by its table, and takes back what was granted last. */
export function ravenServer(reserve?: number): Authority {
  let max = 0
  const raven = new RavenModel(
    'A',
    {
      granted: (_series, _device, _low, high) => (max = high),
      returned: (_series, _device, low) => (max = low - 1),
      excuse: () => {},
      returnedAstray: () => {},
    },
    Date.now,
  )
  return {
    options: appOf(reserve),
    handle: (request) => raven.handle(request),
    outstanding: async () => max,
    close: async () => {},
  }
}

const appOf = (reserve?: number): HiloOptions => ({
  url: 'https://hilo.test',
  database: 'fleet',
  collections: { orders: {} },
  ...(reserve !== undefined && { reserve }),
})
