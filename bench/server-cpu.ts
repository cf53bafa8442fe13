/**
 * The CPU time that a server's process takes per request. It is about the same on a busy machine
 * and on a quiet one. Requests per second are not: the load uses the same processors.
 */
import type { Context } from './part.js'
import type { Places } from './places.js'
import { BUSY, claimer, load, startServer } from './server.js'
import type { Setup } from './server-process.js'
import { count, figure, table, times } from './text.js'

/** After so many requests the code is compiled. */
const WARM_UP = 10_000
const REQUESTS = 40_000

interface Cost {
  /** Microseconds per request, of all processes of the server together. */
  cpu: number
  perSecond: number
}

export async function cpuPerRequest({ isQuick, print, goal }: Context, places: Places) {
  const costOf = (setup: Setup, servers = 1) =>
    isQuick ? cost(setup, servers, BUSY, BUSY) : cost(setup, servers, WARM_UP, REQUESTS)
  const empty = await costOf('empty')
  const sqlite = await costOf(await places.setup('SQLite'))
  const postgres = await costOf(await places.setup('PostgreSQL'))
  const two = await costOf(await places.setup('PostgreSQL'), 2)
  const row = (title: string, { cpu, perSecond }: Cost, beside: string) => [
    title,
    `${figure(cpu)} µs`,
    times(cpu / empty.cpu),
    count(perSecond),
    beside,
  ]
  print(
    table(
      [
        `one hot collection, ${BUSY} connections`,
        'CPU per request',
        'of an empty route',
        'requests/s',
        'of one server',
      ],
      [
        row('an empty route', empty, ''),
        row('a claim, SQLite', sqlite, ''),
        row('a claim, PostgreSQL', postgres, times(1)),
        row(
          'a claim, two servers on one PostgreSQL',
          two,
          times(two.perSecond / postgres.perSecond),
        ),
      ],
    ),
  )
  const what = 'CPU of the server per claim of a hot collection'
  goal(what, '≤ 100 µs', `SQLite ${figure(sqlite.cpu)} µs, PostgreSQL ${figure(postgres.cpu)} µs`)
}

/** @param count servers, which share the load */
async function cost(setup: Setup, count: number, warmUp: number, requests: number): Promise<Cost> {
  // One after another: the first makes the tables.
  const servers = [await startServer(setup)]
  while (servers.length < count) servers.push(await startServer(setup))
  const claimers = servers.map(({ url }) => claimer(url, BUSY / count, 1))
  const claim = (number: number) => claimers[number % count]!.claim(number)
  const cpu = async () => {
    const each = await Promise.all(servers.map((server) => server.cpu()))
    return each.reduce((sum, cpu) => sum + cpu, 0)
  }
  await load(BUSY, claim, { count: warmUp })
  const before = await cpu()
  const { perSecond } = await load(BUSY, claim, { count: requests })
  const used = (await cpu()) - before
  for (const { close } of claimers) await close()
  for (const server of servers) await server.stop()
  return { cpu: used / requests, perSecond }
}
