/** What every database promises about ledgers of other versions. */
import { expect, test } from 'vitest'
import type { Ledger } from '../src/ledger/ledger.js'
import { DAY_MS, newId, WITHOUT_CLAIMED_AT } from './ledger-bench.js'

/** A database that no ledger has used yet. */
interface NewDatabase {
  open(): Promise<Ledger>
  /** Runs SQL in it, while no ledger is open. */
  run(sql: string): Promise<void>
}

export function describeUpgrades(newDatabase: () => Promise<NewDatabase>): void {
  test('a database that a newer version has upgraded is left alone', async () => {
    const { open, run } = await newDatabase()
    await (await open()).close()
    await run("UPDATE hilo_meta SET value = '99' WHERE key = 'version'")
    await expect(open()).rejects.toThrow('A newer offline-hilo has upgraded it')
  })

  test('what a version that never pruned has kept is counted, as old as the upgrade', async () => {
    const { open, run } = await newDatabase()
    const claim = { database: 'Shop', name: 'invoices|', id: newId(), at: 0 }
    const first = await open()
    expect(await first.nextIdentities([claim])).toEqual([{ value: 1 }])
    const wish = { collection: 'orders', count: 32, lastMax: 0, serverTag: 'A', at: 0 }
    for (let i = 0; i < 2; i++) await first.claim([{ ...wish, database: 'Shop' }])
    const status = await first.status()
    await first.close()
    await run(WITHOUT_CLAIMED_AT)
    const ledger = await open()
    await ledger.prune({ settledBefore: Date.now() - DAY_MS, heardBefore: 0 })
    expect(await ledger.nextIdentities([claim])).toEqual([{ value: 1 }])
    expect(await ledger.status()).toEqual(status)
    await ledger.prune({ settledBefore: Date.now() + DAY_MS, heardBefore: Date.now() - DAY_MS })
    expect(await ledger.nextIdentities([claim])).toEqual([{ value: 2 }])
    expect(await ledger.status()).toMatchObject([{ grants: 2, outstanding: 64 }])
    await ledger.close()
  })
}
