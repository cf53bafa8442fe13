/**
 * A back end and this server on one counter, as they meet in real life: the back end makes its
 * schema, the operator checks the binding and starts two servers, processes of both sides are
 * killed in between.
 */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { HiloError } from '../../../src/core/errors.js'
import type { Range } from '../../../src/core/range.js'
import { ravenSource } from '../../../src/source/raven-source.js'
import type { CounterOptions } from '../../src/addons/bound/orm/counter-options.js'
import { openLedger } from '../../src/index.js'
import { proveBeside } from '../addons/orm/proving.js'
import { newFolder } from '../folders.js'
import { grantOf } from '../ledger-bench.js'
import { newDatabase } from '../postgres.js'
import { runSql } from '../postgres-cluster.js'
import { startProcess } from '../processes.js'
import { runCli } from '../run-cli.js'
import { type Command, startTaker, type Taker } from './taker.js'

export interface BackEnd {
  title: string
  settings: CounterOptions
  /** Ids of one value of the counter. */
  block: number
  /** One of its processes; the first makes the schema. */
  command(databaseUrl: URL, isFirst: boolean): Command
  /** What the checks say of the back end's own schema, and what the operator does about it. */
  beforehand?: { refusal: string; remedy: { sql: string } | 'first id' | '--first' }[]
}

const TARGET = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
/** What a killed process of a back end had not printed yet: four transactions of ten. */
const UNPRINTED = 40
/** What a killed server was about to grant: the claims on their way to it. */
const UNGRANTED = 2 * 60

/** @param count ids that each process of the back end stores */
export async function meet(backEnd: BackEnd, count: number): Promise<void> {
  const databaseUrl = await newDatabase()
  const url = new URL(databaseUrl)
  const collections = { Shop: { orders: { ...backEnd.settings, ids: 'orders.id' } } }
  const config = join(newFolder(), 'hilo.json')
  writeFileSync(config, JSON.stringify({ collections }))
  const options = ['--config', config, '--database-url', databaseUrl]

  const first = await startTaker(backEnd.command(url, true))
  for (const { refusal, remedy } of backEnd.beforehand ?? []) {
    expect(await runCli(['check', ...options])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(refusal),
    })
    if (remedy === 'first id') await first.take(1)
    else if (remedy === '--first') options.push(remedy)
    else await runSql(databaseUrl, remedy.sql)
  }
  expect(await runCli(['check', ...options])).toMatchObject({
    stderr: '',
    stdout: expect.stringContaining('the next ids are'),
    code: 0,
  })

  await (await openLedger({ create: true, databaseUrl })).close()
  await proveBeside({ databaseUrl, collections, first: options.includes('--first') }, () =>
    first.take(1),
  )
  const start = () => startProcess([...options, '--port', '0'])
  const servers = [await start(), await start()]
  const granted: number[] = []
  let isOver = false
  const claimer = async (at: number) => {
    for (let i = at; !isOver; i++) {
      const range = await claim(() => servers[at % 2]!.url, 1 + ((i * 13) % 60))
      // A give-back whose server is killed may have been heard: those numbers are nobody's.
      const back = i % 3 === 0 ? range.from + Math.floor((range.to - range.from) / 2) + 1 : Infinity
      if (back <= range.to)
        await sourceAt(servers[at % 2]!.url)
          .giveBack(TARGET, { ...range, from: back })
          .catch(ignoreUnreachable)
      for (let number = range.from; number <= Math.min(range.to, back - 1); number++)
        granted.push(number)
    }
  }
  const claimers = Promise.all([0, 1, 2, 3].map(claimer))

  const killed = first.take(count).catch(() => {})
  const second = await startTaker(backEnd.command(url, false))
  await Promise.all([first.has(count / 2), second.take(count)])
  await first.kill()
  await killed
  await servers[0]!.kill()
  servers[0] = await start()
  await second.take(count)
  isOver = true
  await claimers
  for (const server of servers) await server.stop()
  // The back end goes on.
  await second.take(5 * backEnd.block)
  await second.end()
  const takers = [first, second]

  const rest = await restOf(databaseUrl, collections)
  const { rows } = await runSql(databaseUrl, 'SELECT id FROM orders')
  verify(
    takers,
    rows.map(({ id }) => Number(id)),
    [...granted, ...rest],
    {
      least: count,
      lost: takers.length * backEnd.block + UNPRINTED + UNGRANTED,
    },
  )
}

function verify(
  takers: readonly Taker[],
  stored: readonly number[],
  granted: readonly number[],
  { least, lost }: { least: number; lost: number },
): void {
  const printed = takers.flatMap(({ ids }) => ids.map(Number))
  expect(new Set(printed).size).toBe(printed.length)
  expect(new Set(granted).size).toBe(granted.length)
  const theirs = new Set([...printed, ...stored])
  expect([...theirs].every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true)
  expect(granted.filter((number) => theirs.has(number))).toEqual([])
  expect(Math.min(theirs.size, granted.length)).toBeGreaterThan(least)
  const all = new Set([...theirs, ...granted])
  expect(Math.max(...all) - all.size).toBeLessThanOrEqual(lost)
}

const sourceAt = (url: string) => ravenSource({ url, timeout: 10_000 }, () => ({}))

/** The same claim until it is answered, by whichever server is there by then. */
async function claim(urlOf: () => string, count: number): Promise<Range> {
  const id = randomUUID()
  for (;;)
    try {
      const { range } = await sourceAt(urlOf()).claim(TARGET, {
        id,
        lastBatchSize: count,
        lastMax: 0,
      })
      return range
    } catch (error) {
      ignoreUnreachable(error)
      await new Promise((resolve) => setImmediate(resolve))
    }
}

function ignoreUnreachable(error: unknown): void {
  if (!(error instanceof HiloError && error.code === 'server-unreachable')) throw error
}

/** What the ledger still has to grant. */
async function restOf(databaseUrl: string, collections: object): Promise<number[]> {
  const ledger = await openLedger({ create: true, databaseUrl, collections: collections as never })
  try {
    const numbers: number[] = []
    const [status] = await ledger.status()
    for (let free = status!.free; free > 0; ) {
      const [outcome] = await ledger.claim([
        { ...TARGET, id: randomUUID(), count: free, lastMax: 0, serverTag: 'A', at: 0 },
      ])
      const { low, high } = grantOf(outcome!)
      for (let number = low; number <= high; number++) numbers.push(number)
      free -= high - low + 1
    }
    return numbers
  } finally {
    await ledger.close()
  }
}
