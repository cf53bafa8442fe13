/** What every ledger promises, run against each store. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ledger } from '../src/ledger/ledger.js'
import { grantOf, LIMITS, promisesOf, type Storage } from './ledger-bench.js'
import { describeCheckIns } from './ledger-check-ins.js'
import { describeClaims } from './ledger-claims.js'
import { describeDrops } from './ledger-drops.js'
import { describeGiveBacks } from './ledger-give-backs.js'
import { describeGrowth } from './ledger-growth.js'
import { describeIdentities } from './ledger-identities.js'
import { describeNumberLines } from './ledger-number-lines.js'
import { describeRestores } from './ledger-restores.js'
import { describeSeries } from './ledger-series.js'
import { describeStorage } from './ledger-storage.js'

/** A PostgreSQL may have to start, on a busy machine. */
const STORAGE_TIMEOUT = 60_000

export function describeLedger(name: string, newStorage: () => Promise<Storage>): void {
  describe(name, () => {
    let storage: Storage
    let ledger: Ledger
    beforeAll(async () => {
      storage = await newStorage()
      ledger = await storage.open(LIMITS)
    }, STORAGE_TIMEOUT)
    afterAll(() => ledger?.close())

    const promise = promisesOf(() => ({ ...storage, ledger }))
    describeClaims(promise)
    describeGiveBacks(promise)
    describeCheckIns(promise)
    describeNumberLines(promise)
    describeIdentities(promise)
    describeSeries(promise)
    describeStorage(promise)
    describeGrowth(promise)
    describeRestores(promise)
    describeDrops(promise)

    test('an empty storage may be opened by several servers at once', async () => {
      const { open: openNew } = await newStorage()
      const ledgers = await Promise.all(Array.from({ length: 5 }, () => openNew()))
      const wish = {
        database: 'Shop',
        collection: 'orders',
        count: 32,
        lastMax: 0,
        serverTag: 'A',
        at: 0,
      }
      const outcomes = await Promise.all(ledgers.map((other) => other.claim([wish])))
      expect(new Set(outcomes.map(([outcome]) => grantOf(outcome!).low)).size).toBe(5)
      await Promise.all(ledgers.map((other) => other.close()))
    })
  })
}
