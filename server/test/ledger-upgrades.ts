/** What every database promises about ledgers of other versions. */
import { expect, test } from 'vitest'
import { createLedger } from '../src/ledger/create-ledger.js'
import type { Ledger } from '../src/ledger/ledger.js'
import type { RowStore } from '../src/ledger/row-store.js'
import { SCHEMA, type Schema } from '../src/sql/schema.js'
import { grantOf, LIMITS, newId } from './ledger-bench.js'

/** A database that no ledger has used yet. */
interface NewDatabase {
  open(schema?: Schema): Promise<RowStore>
  /** Runs SQL in it. */
  run(sql: string): Promise<unknown>
}

/** A version that is yet to come: this one is the older. */
export const NEWER: Schema = {
  tables: (naming) => [
    ...SCHEMA.tables(naming),
    `ALTER TABLE ${naming.schema}.hilo_grants ADD COLUMN note TEXT`,
  ],
  upgrades: [
    ({ schema }) => [
      `ALTER TABLE ${schema}.hilo_grants ADD COLUMN note TEXT NOT NULL DEFAULT ''`,
      `UPDATE ${schema}.hilo_grants SET note = 'upgraded'`,
    ],
  ],
}

/** After the next version: this one would misread its tables. */
const AFTER_NEXT: Schema = {
  tables: NEWER.tables,
  upgrades: [...NEWER.upgrades, () => []],
}

export const ledgerOver = (store: RowStore): Ledger => createLedger(store, LIMITS, new Map())

export function describeUpgrades(newDatabase: () => Promise<NewDatabase>): void {
  test('a database that a newer version has upgraded is left alone', async () => {
    const { open } = await newDatabase()
    await (await open(NEWER)).close()
    await expect(open()).rejects.toThrow('schema version 2, this program knows up to 1. A newer')
  })

  test('a ledger is upgraded under an older server, which goes on with it', async () => {
    const { open, run } = await newDatabase()
    const older = ledgerOver(await open())
    const wish = { database: 'Shop', collection: 'orders', count: 1, lastMax: 0, serverTag: 'A' }
    const first = { ...wish, id: newId(), at: 0 }
    const granted = [grantOf((await older.claim([first]))[0]!).low]
    const claim = async (ledger: Ledger) =>
      granted.push(grantOf((await ledger.claim([{ ...wish, id: newId(), at: 0 }]))[0]!).low)
    let isUpgraded = false
    const running = (async () => {
      while (!isUpgraded) await claim(older)
    })()
    const newer = ledgerOver(await open(NEWER))
    await claim(newer)
    await claim(older)
    isUpgraded = true
    await running
    expect(granted.toSorted((a, b) => a - b)).toEqual(granted.map((_, i) => i + 1))
    expect(grantOf((await newer.claim([first]))[0]!).low).toBe(1)
    await run("UPDATE hilo_grants SET note = 'seen' WHERE note = 'upgraded'")
    await older.close()
    await newer.close()
  })

  test('a server that would misread upgraded tables grants nothing, and says why', async () => {
    const { open } = await newDatabase()
    const older = ledgerOver(await open())
    const claim = (ledger: Ledger) =>
      ledger.claim([
        {
          id: newId(),
          at: 0,
          database: 'Shop',
          collection: 'orders',
          count: 1,
          lastMax: 0,
          serverTag: 'A',
        },
      ])
    await claim(older)
    const next = ledgerOver(await open(NEWER))
    const newest = ledgerOver(await open(AFTER_NEXT))
    await expect(claim(older)).rejects.toThrow(
      'has brought the tables of this ledger to version 3, and this server knows version 1. ' +
        'Nothing is granted. Start the newer version here, too',
    )
    for (const [i, ledger] of [next, newest].entries())
      expect(grantOf((await claim(ledger))[0]!).low).toBe(i + 2)
    for (const ledger of [older, next, newest]) await ledger.close()
  })
}
