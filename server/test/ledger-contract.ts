/** What every ledger promises, run against each store. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ledger } from '../src/ledger/ledger.js'
import { grantOf, LIMITS, newId, promisesOf, type Storage } from './ledger-bench.js'
import { describeCheckIns } from './ledger-check-ins.js'
import { describeClaims } from './ledger-claims.js'
import { describeDrops } from './ledger-drops.js'
import { describeExplains } from './ledger-explains.js'
import { describeGiveBacks } from './ledger-give-backs.js'
import { describeGrowth } from './ledger-growth.js'
import { describeHandOvers } from './ledger-hand-overs.js'
import { describeIdentities } from './ledger-identities.js'
import { describeNames } from './ledger-names.js'
import { describeNumberLines } from './ledger-number-lines.js'
import { describeRanges } from './ledger-ranges.js'
import { describeRestores } from './ledger-restores.js'
import { describeSeries } from './ledger-series.js'
import { describeStorage } from './ledger-storage.js'
import { describeWentBack } from './ledger-went-back.js'

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
    describeHandOvers(promise)
    describeRanges(promise)
    describeExplains(promise)
    describeStorage(promise)
    describeGrowth(promise)
    describeRestores(promise)
    describeDrops(promise)
    describeNames(promise)
    describeWentBack(promise)

    test('with a new secret, once it is opened again, no token of before is known', async () => {
      const { open } = await newStorage()
      const wish = { database: 'Shop', collection: 'orders', count: 32, lastMax: 0, serverTag: 'A' }
      const take = async (from: Ledger) =>
        grantOf((await from.claim([{ ...wish, id: newId(), at: 0 }]))[0]!)
      const before = await open()
      const { token } = await take(before)
      await before.renewSecret()
      await before.close()
      const after = await open()
      const grants = [token, (await take(after)).token].map((token) => ({ token, next: 1 }))
      expect(await after.checkIn({ database: 'Shop', id: newId(), at: 0, grants })).toEqual([
        'unknown',
        { token: expect.any(String), high: 64 },
      ])
      await after.close()
    })

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
