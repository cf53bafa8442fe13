/**
 * Who can sign grant tokens: a ledger gets a new secret, or an operator keeps it outside of it.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Ledger, type LedgerOptions, openLedger } from '../src/index.js'
import { grantTokens } from '../src/ledger/grant-token.js'
import { newFolder, secretIn } from './folders.js'
import { grantOf, newId } from './ledger-bench.js'
import { newDatabase, secretAt } from './postgres.js'
import { spawnCli } from './processes.js'
import { runCli } from './run-cli.js'

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

test('a token of a test copy does not stop the original', async () => {
  const folder = newFolder()
  const [data, copy] = [join(folder, 'data'), join(folder, 'copy')]
  const original = await openLedger({ create: true, dataDir: data })
  await original.claim([WISH])
  mkdirSync(copy)
  const backup = await spawnCli(['backup', join(folder, 'copied.db'), '--data', data])
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
  const renew = (...args: string[]) => spawnCli(['renew-secret', ...args, '--data', copy])
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

const [OLD, NEW] = ['an old secret of thirty-two letters', 'a new secret of thirty-two letters!']

async function tokenFrom(ledger: Ledger): Promise<string> {
  return grantOf((await ledger.claim([{ ...WISH, id: newId() }]))[0]!).token
}

const isKnown = async (ledger: Ledger, token: string): Promise<boolean> => {
  const shown = { database: 'Shop', id: newId(), at: 0, grants: [{ token, next: 1 }] }
  return (await ledger.checkIn(shown))[0] !== 'unknown'
}

test('a secret outside of the ledger leaves none in it, and opens no other ledger', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir, secrets: [OLD] })
  const token = await tokenFrom(ledger)
  expect(await isKnown(ledger, token)).toBe(true)
  await ledger.close()
  const kept = secretIn(dataDir)
  expect(readdirSync(dataDir).some((file) => readFileSync(join(dataDir, file)).includes(OLD))).toBe(
    false,
  )
  // Whoever has a copy of the file can sign with what is in it, and with nothing else.
  const forged = grantTokens([kept]).write({
    id: token.split('.')[0]!,
    tokenVersion: 0,
    serial: 1,
    high: 32,
    database: 'Shop',
    collection: 'orders',
  })
  const again = await openLedger({ dataDir, secrets: [OLD] })
  expect(await isKnown(again, forged)).toBe(false)
  await again.close()
  await expect(openLedger({ dataDir })).rejects.toThrow('kept outside of it. Give it as HILO_SEC')
  await expect(openLedger({ dataDir, secrets: [NEW] })).rejects.toThrow('None of `secrets`')
  expect(secretIn(dataDir)).toBe(kept)
})

const PLACES: [string, () => Promise<{ at: LedgerOptions; flags: string[]; secret(): unknown }>][] =
  [
    [
      'SQLite',
      async () => {
        const dataDir = newFolder()
        return { at: { dataDir }, flags: ['--data', dataDir], secret: () => secretIn(dataDir) }
      },
    ],
    [
      'PostgreSQL',
      async () => {
        const databaseUrl = await newDatabase()
        const flags = ['--database-url', databaseUrl]
        return { at: { databaseUrl }, flags, secret: () => secretAt(databaseUrl) }
      },
    ],
  ]

describe.each(PLACES)('a secret outside of the ledger in %s', (_, newPlace) => {
  test('is followed by another one, and no token is lost', async () => {
    const { at } = await newPlace()
    const before = await openLedger({ create: true, ...at, secrets: [OLD] })
    const old = await tokenFrom(before)
    await before.close()
    const between = await openLedger({ ...at, secrets: [NEW, OLD] })
    const next = await tokenFrom(between)
    await between.renewSecret()
    // A server that knows both goes on.
    expect(await Promise.all([isKnown(between, old), isKnown(between, next)])).toEqual([true, true])
    await between.close()
    const after = await openLedger({ ...at, secrets: [NEW] })
    expect(await isKnown(after, next)).toBe(true)
    await after.close()
    await expect(openLedger({ ...at, secrets: [OLD] })).rejects.toThrow('None of `secrets`')
  })

  test('takes the place of the one in the ledger', async () => {
    const { at, flags, secret } = await newPlace()
    const before = await openLedger({ create: true, ...at })
    const old = await tokenFrom(before)
    await before.close()
    const inside = await secret()
    const between = await openLedger({ ...at, secrets: [NEW] })
    const next = await tokenFrom(between)
    expect(await Promise.all([isKnown(between, old), isKnown(between, next)])).toEqual([true, true])
    await between.close()
    const renewed = await spawnCli(['renew-secret', '--yes', ...flags], { HILO_SECRETS: NEW })
    expect(renewed).toMatchObject({ code: 0, stderr: '' })
    expect(await secret()).not.toBe(inside)
    expect((await spawnCli(['status', ...flags])).stderr).toContain('HILO_SECRETS')
    const shown = await spawnCli(['status', ...flags], { HILO_SECRETS: `${NEW},${OLD}` })
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('orders') })
    const after = await openLedger({ ...at, secrets: [NEW] })
    expect(await Promise.all([isKnown(after, old), isKnown(after, next)])).toEqual([false, true])
    await after.close()
  })

  test('stays where no new one is given, and the command says so', async () => {
    const { at, flags, secret } = await newPlace()
    await (await openLedger({ create: true, ...at, secrets: [OLD] })).close()
    const before = await secret()
    const renew = (HILO_SECRETS: string) =>
      runCli(['renew-secret', '--yes', ...flags], { HILO_SECRETS })
    const { code, stderr } = await renew(OLD)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /the first one of `secrets` .* already\. Nothing was changed\. Put a new/,
    )
    expect(await secret()).toBe(before)
    expect(await renew(`${NEW},${OLD}`)).toMatchObject({ code: 0, stderr: '' })
    expect(await secret()).not.toBe(before)
  })

  test('is not put there by a command, which would stop the servers', async () => {
    const { at, flags, secret } = await newPlace()
    const ledger = await openLedger({ create: true, ...at })
    const inside = await secret()
    const shown = await runCli(['status', ...flags], { HILO_SECRETS: NEW })
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(await secret()).toBe(inside)
    expect(await isKnown(ledger, await tokenFrom(ledger))).toBe(true)
    await ledger.close()
  })

  test('is for all servers of a ledger: one without it neither grants nor starts', async () => {
    const { at } = await newPlace()
    const without = await openLedger({ create: true, ...at })
    const old = await tokenFrom(without)
    const next = await openLedger({ ...at, secrets: [NEW] })
    const outside = expect.objectContaining({
      message: expect.stringContaining('was started with HILO_SECRETS: all of them need the same'),
    })
    await expect(tokenFrom(without)).rejects.toEqual(outside)
    await expect(without.ping()).rejects.toEqual(outside)
    await expect(openLedger({ ...at })).rejects.toThrow('kept outside of it. Give it as HILO_SEC')
    expect(await isKnown(next, old)).toBe(true)
    await without.close()
    await next.close()
    const again = await openLedger({ ...at, secrets: [NEW] })
    expect(await isKnown(again, await tokenFrom(again))).toBe(true)
    await again.close()
  })
})

test('no database has a secret of its own here: one that is named is refused', async () => {
  const data = newFolder()
  const ledger = await openLedger({ create: true, dataDir: data })
  await ledger.close()
  const secret = secretIn(data)
  const { code, stdout, stderr } = await runCli(['renew-secret', 'Shop', '--yes', '--data', data])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain("leave 'Shop' out to renew the secret of all databases")
  expect(secretIn(data)).toBe(secret)
})
