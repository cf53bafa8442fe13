/** A ledger gets a new secret: a test copy, and one whose backup got into wrong hands. */
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLedger } from '../src/index.js'
import { newFolder } from './folders.js'
import { grantOf, newId } from './ledger-bench.js'
import { runCli } from './processes.js'

const TIMEOUT = 120_000
const WISH = {
  database: 'Shop',
  collection: 'orders',
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
}

test('after a leak, tokens that the old secret signed do nothing', async () => {
  const dataDir = newFolder()
  const open = () => openLedger({ create: true, dataDir })
  const leaked = await open()
  const { low, high, token } = grantOf((await leaked.claim([{ ...WISH, id: newId() }]))[0]!)
  await leaked.renewSecret()
  await leaked.close()
  const ledger = await open()
  const back = { database: 'Shop', collection: 'orders', end: high, last: low - 1, token, at: 0 }
  expect(await ledger.giveBack(back)).toBe(0)
  const grants = [{ token, next: 1 }]
  expect(await ledger.checkIn({ database: 'Shop', id: newId(), at: 0, grants })).toEqual([
    'unknown',
  ])
  expect(await ledger.restored()).toEqual([])
  // The device keeps its numbers.
  expect(grantOf((await ledger.claim([{ ...WISH, id: newId() }]))[0]!).low).toBe(high + 1)
  await ledger.close()
})

test('a token of a test copy does not stop the original', { timeout: TIMEOUT }, async () => {
  const folder = newFolder()
  const [data, copy] = [join(folder, 'data'), join(folder, 'copy')]
  const original = await openLedger({ create: true, dataDir: data })
  await original.claim([WISH])
  mkdirSync(copy)
  const backup = await runCli(['backup', join(folder, 'copied.db'), '--data', data])
  expect(backup.stdout).toContain('offline-hilo-server renew-secret')
  renameSync(join(folder, 'copied.db'), join(copy, 'hilo.db'))

  /** Of a grant that the copy makes, shown to the original. */
  const show = async () => {
    const test = await openLedger({ create: true, dataDir: copy })
    const [outcome] = await test.claim([{ ...WISH, id: newId() }])
    await test.close()
    const grants = [{ token: grantOf(outcome!).token, next: 1 }]
    return original.checkIn({ database: 'Shop', id: newId(), at: 0, grants })
  }
  const renew = (...args: string[]) => runCli(['renew-secret', ...args, '--data', copy])
  expect(await renew()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Nothing was changed.'),
  })
  expect(await renew('--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The ledger has a new secret.'),
  })
  expect(await show()).toEqual(['unknown'])
  expect(await original.restored()).toEqual([])
  await original.close()
})
