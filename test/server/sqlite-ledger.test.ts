import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, test } from 'vitest'
import { openLedger } from '../../src/server/index.js'
import { newFolder } from './folders.js'
import { describeLedger } from './ledger-contract.js'

describeLedger('SQLite ledger', async () => {
  const dataDir = newFolder()
  return (limits) => openLedger({ dataDir, limits })
})

test('the file is in a folder that is made when it is missing; an application keeps its own tables there', async () => {
  const dataDir = join(newFolder(), 'a', 'b')
  const ledger = await openLedger({ dataDir })
  expect(readdirSync(dataDir)).toContain('hilo.db')
  const own = new Database(join(dataDir, 'hilo.db'))
  own.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  own.prepare('INSERT INTO orders VALUES (?)').run(['orders/1-A'] as never)
  await ledger.claim([{ database: 'Shop', tag: 'orders', count: 32, lastMax: 0, serverTag: 'A', at: 0 }])
  expect(own.prepare('SELECT max FROM hilo_counters').all()).toEqual([{ max: 32 }])
  own.close()
  await ledger.close()
})

test('a file that a newer version has upgraded is left alone', async () => {
  const dataDir = newFolder()
  await (await openLedger({ dataDir })).close()
  const db = new Database(join(dataDir, 'hilo.db'))
  db.exec("UPDATE hilo_meta SET value = '99' WHERE key = 'version'")
  db.close()
  await expect(openLedger({ dataDir })).rejects.toThrow('A newer offline-hilo has upgraded it')
})
