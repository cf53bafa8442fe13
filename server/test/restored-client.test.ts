/** A device whose server was restored from a backup, with the real client. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createHilo } from '../../src/index.js'
import { openLedger, serve } from '../src/index.js'
import { backUp } from '../src/sqlite/backup.js'
import { newFolder } from './folders.js'

const log = { info() {}, error() {} }

test('it keeps its claim and its numbers while nothing is granted', async () => {
  const [before, after] = [newFolder(), newFolder()]
  const lost = await serve({ create: true, port: 0, dataDir: before, log })
  const hilo = createHilo({ url: lost.url, database: 'Shop' })
  onTestFinished(() => hilo.close())
  await hilo.nextId('lines')
  backUp(before, join(after, 'hilo.db'))
  const ids = [await hilo.nextId('orders')]
  await lost.close()
  const port = Number(new URL(lost.url).port)
  const restored = await serve({ create: true, port, dataDir: after, log })
  onTestFinished(() => restored.close())
  await expect(hilo.reserve('orders', 500)).rejects.toThrow()
  ids.push(...(await hilo.nextIds('orders', 10)))
  expect(ids).toEqual(Array.from({ length: 11 }, (_, i) => `orders/${i + 1}-A`))
  const ledger = await openLedger({ create: true, dataDir: after })
  await expect.poll(() => ledger.restored(), { timeout: 20_000 }).toEqual(['shop'])
  await ledger.close()
})
