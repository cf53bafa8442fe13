/** What a region makes of an answer of its root that grants nothing: one table judges them all. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openEtcd } from '../../../src/addons/region/etcd.js'
import { serve } from '../../../src/index.js'
import { openLedger } from '../../../src/open-ledger.js'
import { newFolder } from '../../folders.js'
import { AT, grantOf, newId, span } from '../../ledger-bench.js'

const KEY = { database: 'shop', collection: 'orders' }
const WISH = { ...KEY, count: 32, lastMax: 0, serverTag: 'Z', at: AT }
const SIGN_IN = '<!doctype html><title>Sign in</title>'
const REFUSAL = JSON.stringify({ Url: '/', Type: 'Error', Message: 'No.', Error: 'No.' })
const silent = { error() {}, warn() {}, info() {} }

const ANSWERS: [status: number, body: string, name: string][] = [
  [200, SIGN_IN, 'LedgerUnavailable'],
  [408, SIGN_IN, 'LedgerUnavailable'],
  [425, '{}', 'LedgerUnavailable'],
  [429, '{}', 'LedgerUnavailable'],
  [500, '{}', 'LedgerUnavailable'],
  [503, SIGN_IN, 'LedgerUnavailable'],
  [403, SIGN_IN, 'LedgerUnavailable'],
  [404, SIGN_IN, 'LedgerUnavailable'],
  [401, REFUSAL, 'CounterUnusable'],
  [403, REFUSAL, 'CounterUnusable'],
  [404, REFUSAL, 'CounterUnusable'],
]

async function answering(status: number, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each(ANSWERS)('%i to a claim or an identity: %s is %s', async (status, body, name) => {
  const ledger = await openLedger({
    create: true,
    dataDir: newFolder(),
    upstream: { url: await answering(status, body), reserve: 0 },
  })
  onTestFinished(() => ledger.close())
  await expect(ledger.claim([{ ...WISH, id: newId() }])).rejects.toMatchObject({ name })
  const identity = { database: 'shop', name: 'invoices|', id: newId(), at: AT }
  await expect(ledger.nextIdentities([identity])).rejects.toMatchObject({ name })
})

test.each(ANSWERS)('%i to the check-in at the start: %s is %s', async (status, body, name) => {
  const root = await serve({ create: true, port: 0, dataDir: newFolder(), log: silent })
  onTestFinished(() => root.close({ drain: 0 }))
  const dataDir = newFolder()
  const before = await openLedger({
    create: true,
    dataDir,
    upstream: { url: root.url, reserve: 500 },
  })
  const [first] = await before.claim([{ ...WISH, id: newId() }])
  await before.close()
  const url = await answering(status, body)
  const after = await openLedger({ create: true, dataDir, upstream: { url, reserve: 500 } })
  onTestFinished(() => after.close())
  const claimed = after.claim([{ ...WISH, id: newId() }])
  if (name === 'CounterUnusable') await expect(claimed).rejects.toMatchObject({ name })
  else expect(span(grantOf((await claimed)[0]!))[0]).toBe(span(grantOf(first!))[1]! + 1)
})

test.each(ANSWERS)('%i of etcd: %s is %s', async (status, body, name) => {
  const url = await answering(status, body)
  const etcd = openEtcd({ etcd: [url], block: 100, prefix: 'ids', tag: 'A', reserve: 0 })
  await expect(etcd.commit({}, [], [])).rejects.toMatchObject({ name })
})
