/**
 * How the server does in bad cases: a long free list, many tokens, another program's lock on the
 * file, and a database that does not answer. Each is measured beside the usual case.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import {
  type ClaimRequest,
  createHiloHandler,
  type Ledger,
  LedgerUnavailable,
  openLedger,
} from '../../server/src/index.js'
import type { Context, Part } from '../part.js'
import { figure, table, times } from '../text.js'

const SPANS = 1_000
const TOKENS = 1_000
const NEXT = 'http://ids.test/databases/Shop/hilo/next?tag=orders'
const SILENT = { info() {}, error() {} }

export const hostile: Part = {
  name: 'hostile',
  title: 'Server: what it stands',
  measures: ['server/src'],
  async run({ isQuick, print }: Context) {
    const runs = isQuick ? 20 : 1_000
    const dataDir = mkdtempSync(join(tmpdir(), 'hilo-bench-hostile-'))
    const ledger = await openLedger({ create: true, dataDir })
    try {
      const rows = [
        await freeList(ledger, runs),
        await refusedTokens(ledger, runs),
        await foreignLock(ledger, join(dataDir, 'hilo.db')),
        await outage(ledger, runs),
      ]
      print(table(['', 'usual', 'hostile', ''], rows))
    } finally {
      await ledger.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  },
}

const claimOf = (collection: string, count: number): ClaimRequest => {
  const asked = { id: randomUUID(), count, lastMax: 0, serverTag: 'A', at: Date.now() }
  return { database: 'Shop', collection, ...asked }
}

/** Milliseconds of CPU that one of `runs` takes. */
async function cpuOf(runs: number, step: () => Promise<unknown>): Promise<number> {
  await step()
  const before = process.cpuUsage()
  for (let i = 0; i < runs; i++) await step()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / runs
}

const compared = (what: string, usual: number, hard: number): string[] => [
  what,
  `${figure(usual)} ms`,
  `${figure(hard)} ms`,
  times(hard / usual),
]

async function freeList(ledger: Ledger, runs: number): Promise<string[]> {
  const outcomes = await ledger.claim(
    Array.from({ length: 2 * SPANS }, () => claimOf('spans', 1_000)),
  )
  for (const [i, outcome] of outcomes.entries())
    if (i % 2 === 0 && 'grant' in outcome) {
      const { low, high: end, token } = outcome.grant
      const key = { database: 'Shop', collection: 'spans' }
      await ledger.giveBack({ ...key, end, last: low - 1, token, at: Date.now() })
    }
  const usual = await cpuOf(runs, () => ledger.claim([claimOf('plain', 1)]))
  const hard = await cpuOf(runs, () => ledger.claim([claimOf('spans', 1)]))
  return compared(`CPU of a claim, with ${SPANS} free ranges`, usual, hard)
}

async function refusedTokens(ledger: Ledger, runs: number): Promise<string[]> {
  const refusalWith = (count: number) => {
    const tokens = Array.from({ length: count }, () => randomUUID())
    const handler = createHiloHandler({ ledger, tokens, databases: 'any', log: SILENT })
    const headers = { Authorization: `Bearer ${randomUUID()}` }
    return cpuOf(runs, () => handler(new Request(NEXT, { headers })))
  }
  const usual = await refusalWith(1)
  return compared(
    `CPU of a refused request, with ${TOKENS} tokens`,
    usual,
    await refusalWith(TOKENS),
  )
}

async function foreignLock(ledger: Ledger, file: string): Promise<string[]> {
  const handler = createHiloHandler({ ledger, log: SILENT })
  const health = async () => {
    const before = performance.now()
    await handler(new Request('http://ids.test/healthz'))
    return performance.now() - before
  }
  await health()
  const usual = await health()
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  const waiting = ledger.claim([claimOf('orders', 1)])
  const hard = await health()
  other.exec('ROLLBACK')
  await waiting
  other.close()
  return compared("/healthz, while another program has the file's lock", usual, hard)
}

const textOf = (line: unknown[]): string =>
  JSON.stringify(line, (_, value) => (value instanceof Error ? value.stack : value))

async function outage(ledger: Ledger, runs: number): Promise<string[]> {
  let bytes = 0
  const log = { info() {}, error: (...line: unknown[]) => (bytes += textOf(line).length) }
  const claim = () => Promise.reject(new LedgerUnavailable('The database does not answer.'))
  const handler = createHiloHandler({ ledger: { ...ledger, claim }, log })
  for (let i = 0; i < runs; i++) await handler(new Request(NEXT))
  return ['log of a request while the database is away', '', `${figure(bytes / runs)} bytes`, '']
}
