/** Whether a growing ledger, or a server that runs on, changes what a claim costs. */
import { fillLedger } from './fill-ledger.js'
import type { Context } from './part.js'
import { type Places, SYSTEMS, type System } from './places.js'
import { BUSY, claimer, load, MANY, startServer } from './server.js'
import type { Setup } from './server-process.js'
import { count, figure, inEach, table, times } from './text.js'

/** Enough claims for a figure, and few compared with the ledger. */
const GROWTH_CLAIMS = 10_000

/** What a claim costs when the ledger already holds so many grants. */
export async function growth(
  { isQuick, isFull, print, goal }: Context,
  places: Places,
): Promise<void> {
  const sizes = isQuick ? [1e3, 1e4] : [1e3, 1e4, 1e5, 1e6, ...(isFull ? [1e7] : [])]
  const costs: { name: System; micros: number[] }[] = []
  for (const system of SYSTEMS) {
    const micros: number[] = []
    for (const size of sizes) {
      const setup = await places.setup(system)
      await begin(setup)
      await fillLedger(setup, size)
      const server = await startServer(setup)
      const { claim, close } = claimer(server.url, BUSY, 1)
      await load(BUSY, claim, { count: 500 })
      const { perSecond } = await load(BUSY, claim, { count: isQuick ? 100 : GROWTH_CLAIMS })
      micros.push(1e6 / perSecond)
      await close()
      await server.stop()
    }
    costs.push({ name: system, micros })
  }
  print(
    table(
      [
        'grants in the ledger',
        ...SYSTEMS.map((system) => `${system}, beside the smallest`),
        ...SYSTEMS.map((system) => `${system}, µs per claim`),
      ],
      sizes.map((size, i) => [
        count(size),
        ...costs.map(({ micros }) => times(micros[i]! / micros[0]!)),
        ...costs.map(({ micros }) => count(micros[i]!)),
      ]),
    ),
  )
  goal(
    `a claim in a ledger of ${count(sizes.at(-1)!)} grants, beside one of ${count(sizes[0]!)}`,
    'flat',
    inEach(costs.map(({ name, micros }) => [name, times(micros.at(-1)! / micros[0]!)])),
  )
}

/** The tables, and one grant in them. */
async function begin(setup: Setup): Promise<void> {
  const server = await startServer(setup)
  const { claim, close } = claimer(server.url, 1, 1)
  await claim(0)
  await close()
  await server.stop()
}

/** The memory of the server's process while it grants. */
export async function memory({ isQuick, print, goal }: Context, places: Places): Promise<void> {
  const claims = isQuick ? 1_000 : 1_000_000
  const steps = 5
  const server = await startServer(await places.setup('PostgreSQL'))
  const { claim, close } = claimer(server.url, BUSY, MANY)
  await load(BUSY, claim, { count: claims / 50 })
  const rows: string[][] = []
  const resident: number[] = []
  for (let step = 0; step <= steps; step++) {
    if (step > 0) await load(BUSY, claim, { count: claims / steps })
    const { heapUsed, rss } = await server.memory()
    resident.push(rss)
    rows.push([
      count(claims / 50 + (claims / steps) * step),
      `${figure(heapUsed / 1e6)} MB`,
      `${figure(rss / 1e6)} MB`,
    ])
  }
  await close()
  await server.stop()
  print(table(['claims so far', 'heap', 'resident'], rows))
  goal(
    `the server's memory after ${count(claims)} claims more`,
    'flat',
    times(resident.at(-1)! / resident[0]!),
  )
}
