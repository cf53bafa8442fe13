/** Regions whose root is an etcd cluster: a real one, killed, cut off and restored. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { etcd, etcdctl, unless } from '../../../../test/support/programs.js'
import { seed, sizeOf } from '../../../../test/support/sizes.js'
import { type Ledger, openLedger } from '../../../src/index.js'
import { backUp } from '../../../src/sqlite/backup.js'
import { makeCertificates } from '../../certificates.js'
import { seededRandom } from '../../devices.js'
import { newFolder } from '../../folders.js'
import { json } from '../../handlers.js'
import { AT, grantOf, newId, span } from '../../ledger-bench.js'
import { startEtcd } from './etcd-cluster.js'

const KEY = { database: 'shop', collection: 'orders' }
const WISH = { ...KEY, count: 32, lastMax: 0, serverTag: 'Z', at: AT }
const BLOCK = 64
const TIMEOUT = 120_000
const STORMS = sizeOf('KILLS')
const SEED = seed()

const closes: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close()
})

async function newRegion(urls: readonly string[], upstream: object = {}, dataDir = newFolder()) {
  const ledger = await openLedger({
    create: true,
    dataDir,
    upstream: { etcd: urls, block: BLOCK, reserve: 0, ...upstream },
  })
  let isOpen = true
  const close = async () => {
    if (isOpen) await ledger.close()
    isOpen = false
  }
  closes.push(close)
  return { ledger, close, claim: (collection?: string) => claim(ledger, collection) }
}

const claim = async (ledger: Ledger, collection = 'orders'): Promise<number[]> =>
  span(grantOf((await ledger.claim([{ ...WISH, collection, id: newId() }]))[0]!))

const ROOT_USER = { user: 'root', password: 'secret' }
const ROOT_NAMED = { name: 'root', password: 'secret' }

/** From now on, etcd asks for a user and a password. */
async function withRoot(url: string) {
  const post = (path: string, body: object, headers?: Record<string, string>) =>
    fetch(`${url}/v3/auth/${path}`, json(body, 'POST', headers))
  await post('user/add', ROOT_NAMED)
  await post('role/add', { name: 'root' })
  await post('user/grant', { user: 'root', role: 'root' })
  expect((await post('enable', {})).status).toBe(200)
  return post
}

/** What it has in stock it may still grant. */
async function takeAll(claim: () => Promise<number[]>, taken: number[][]): Promise<never> {
  for (;;) taken.push(await claim())
}

const overlapping = (spans: number[][]): number[][] =>
  spans
    .toSorted(([a], [b]) => a! - b!)
    .filter(([low], i, sorted) => i > 0 && sorted[i - 1]![1]! >= low!)

describe.skipIf(!etcd.find())(`regions over etcd${unless(etcd)}`, () => {
  test('share dense blocks, under one tag', async () => {
    const { urls } = await startEtcd()
    const regions = await Promise.all([newRegion(urls), newRegion(urls), newRegion(urls)])
    const taken = await Promise.all(Array.from({ length: 30 }, (_, i) => regions[i % 3]!.claim()))
    expect(overlapping(taken)).toEqual([])
    // 30 claims of 32 need 15 blocks, and each region may have begun another one.
    expect(Math.max(...taken.map(([, high]) => high!))).toBeLessThanOrEqual((15 + 3) * BLOCK)
    const [outcome] = await regions[0]!.ledger.claim([{ ...WISH, id: newId() }])
    expect(grantOf(outcome!).serverTag).toBe('A')
  })

  test('keep their tag: another etcd may have granted the same numbers', async () => {
    const { urls } = await startEtcd()
    const dataDir = newFolder()
    const first = await newRegion(urls, { tag: 'B' }, dataDir)
    await first.claim()
    await first.close()
    const other = await newRegion(urls, {}, dataDir)
    const refusal = 'tag) of this ledger is B, and this server has A'
    await expect(other.claim()).rejects.toThrow(refusal)
    await expect(other.ledger.ping()).rejects.toThrow(refusal)
    await other.close()
    await (await newRegion(urls, { tag: 'B' }, dataDir)).claim()
  })

  test('refuse another block size by name, and go on from a floor with it', async () => {
    const { urls } = await startEtcd(1)
    const region = await newRegion(urls)
    expect(await region.claim()).toEqual([1, 32])
    const other = await newRegion(urls, { block: 128 })
    await expect(other.claim()).rejects.toThrow(
      /in blocks of 64, this server is configured for 128.*upstream.block/,
    )
    await other.ledger.raiseFloor({ ...KEY, floor: 0 })
    expect((await other.claim())[0]).toBe(BLOCK + 1)
    await region.claim()
    await expect(region.claim()).rejects.toThrow(/in blocks of 128/)
  })

  test('after a restore, what one region notices stops all until the floor is raised', async () => {
    const cluster = await startEtcd()
    const [ahead, behind] = [await newRegion(cluster.urls), await newRegion(cluster.urls)]
    // One claim: a second one would make it ask for more in the background, at any time.
    const taken = [await behind.claim()]
    await cluster.backUp()
    for (let i = 0; i < 6; i++) taken.push(await ahead.claim())
    await cluster.restore()
    // Until the nodes have a leader, they do not answer in time.
    await expect
      .poll(() => ahead.claim().catch(String), { timeout: TIMEOUT })
      .toMatch(/etcd went back.*raise-floor shop orders/)
    await expect(takeAll(behind.claim, taken)).rejects.toThrow(/etcd went back/)
    await expect(ahead.claim()).rejects.toThrow(/etcd went back/)
    await ahead.ledger.raiseFloor({ ...KEY, floor: 1_000 })
    taken.push(await ahead.claim(), await behind.claim(), await ahead.claim())
    expect(overlapping(taken)).toEqual([])
    expect(taken.at(-1)![0]).toBeGreaterThan(1_000)
  })

  test('after a restore, all floors are raised from where etcd is, not a region', async () => {
    const cluster = await startEtcd(1)
    const [idle, busy] = [await newRegion(cluster.urls), await newRegion(cluster.urls)]
    const taken = [await idle.claim()]
    for (let i = 0; i < 20; i++) taken.push(await busy.claim())
    await cluster.backUp()
    for (let i = 0; i < 4; i++) taken.push(await busy.claim())
    await cluster.restore()
    await idle.ledger.raiseFloors({ database: 'Shop', by: 400 })
    for (let i = 0; i < 8; i++) taken.push(await idle.claim())
    expect(overlapping(taken)).toEqual([])
  })

  test('after a restore, floors rise of names too that this region never claimed', async () => {
    const cluster = await startEtcd(1)
    const [idle, busy] = [await newRegion(cluster.urls), await newRegion(cluster.urls)]
    const taken = { lines: [await busy.claim('lines')], 'late/é': [] as number[][] }
    await cluster.backUp()
    for (const [collection, spans] of Object.entries(taken))
      for (let i = 0; i < 4; i++) spans.push(await busy.claim(collection))
    await cluster.restore()
    await idle.ledger.raiseFloors({ database: 'Shop', by: 400 })
    for (const [collection, spans] of Object.entries(taken)) {
      const first = await (await newRegion(cluster.urls)).claim(collection)
      expect(first[0]).toBeGreaterThan(400)
      spans.push(first, await idle.claim(collection), await busy.claim(collection))
      expect(overlapping(spans)).toEqual([])
    }
  })

  test('a region that restarts knows what it has seen, and notices a restore, too', async () => {
    const cluster = await startEtcd(1)
    const dataDir = newFolder()
    await cluster.backUp()
    const region = await newRegion(cluster.urls, {}, dataDir)
    await region.claim()
    await region.close()
    await cluster.restore()
    const again = await newRegion(cluster.urls, {}, dataDir)
    expect(await again.claim()).toEqual([33, 64])
    await expect(takeAll(again.claim, [])).rejects.toThrow(/etcd went back, and would grant 1 to/)
  })

  test('a region from a backup, with raised floors, grants nothing twice', async () => {
    const { urls } = await startEtcd(1)
    const [dataDir, backup] = [newFolder(), newFolder()]
    const lost = await newRegion(urls, { reserve: 256 }, dataDir)
    const other = await newRegion(urls)
    // What was claimed in advance is in the backup, and granted after it.
    const taken = { orders: [await lost.claim(), await other.claim()], late: [] as number[][] }
    backUp(dataDir, join(backup, 'hilo.db'))
    const claimSome = async (regions: { claim: typeof lost.claim }[]) => {
      for (const [collection, spans] of Object.entries(taken))
        for (const region of [...regions, ...regions, ...regions])
          for (let i = 0; i < 4; i++) spans.push(await region.claim(collection))
    }
    await claimSome([lost, other])
    await lost.close()
    const restored = await newRegion(urls, { reserve: 256 }, backup)
    await restored.ledger.raiseFloors({ database: 'Shop', by: 1_000 })
    await claimSome([restored, other])
    for (const spans of Object.values(taken)) expect(overlapping(spans)).toEqual([])
  })

  test.skipIf(!etcdctl.find()).each([
    ['under its name', undefined],
    ['under a new name', 'restored'],
  ])(`an etcd from a snapshot, %s, with raised floors${unless(etcdctl)}`, async (_, token) => {
    const cluster = await startEtcd()
    const dataDir = newFolder()
    const [one, other] = [
      await newRegion(cluster.urls, { reserve: 128 }, dataDir),
      await newRegion(cluster.urls),
    ]
    const taken = { orders: [await one.claim(), await other.claim()], late: [] as number[][] }
    const snapshot = cluster.saveSnapshot()
    const backup = newFolder()
    backUp(dataDir, join(backup, 'hilo.db'))
    const claimSome = async (regions: { claim: typeof one.claim }[]) => {
      for (const [collection, spans] of Object.entries(taken))
        for (const region of [...regions, ...regions, ...regions])
          spans.push(await region.claim(collection))
    }
    await claimSome([one, other])
    await cluster.restoreSnapshot(snapshot, token)
    // By a region that was restored, too, and so has seen no newer block.
    await one.close()
    const restored = await newRegion(cluster.urls, { reserve: 128 }, backup)
    await expect
      .poll(
        () => restored.ledger.raiseFloors({ database: 'Shop', by: 2_000 }).then(() => '', String),
        { timeout: TIMEOUT },
      )
      .toBe('')
    await claimSome([restored, other, await newRegion(cluster.urls)])
    for (const spans of Object.values(taken)) expect(overlapping(spans)).toEqual([])
    expect(taken.orders.at(-1)![0]).toBeGreaterThan(2_000)
  })

  test.skipIf(!etcdctl.find())(
    `an etcd from a snapshot under a new name stops also those that saw nothing${unless(etcdctl)}`,
    async () => {
      const cluster = await startEtcd(1)
      const { claim } = await newRegion(cluster.urls)
      const taken = [await claim()]
      const snapshot = cluster.saveSnapshot()
      for (let i = 0; i < 6; i++) taken.push(await claim())
      await cluster.restoreSnapshot(snapshot, 'restored')
      const fresh = await newRegion(cluster.urls)
      await expect
        .poll(() => fresh.claim().catch(String), { timeout: TIMEOUT })
        .toMatch(/etcd went back, to another cluster.*raise-floor shop orders/)
      await expect(takeAll(claim, taken)).rejects.toThrow(/etcd went back, to another cluster/)
      await fresh.ledger.raiseFloor({ ...KEY, floor: 1_000 })
      taken.push(await fresh.claim(), await claim())
      expect(overlapping(taken)).toEqual([])
    },
  )

  test('without a majority nothing is granted, and with one it goes on', async () => {
    const cluster = await startEtcd()
    const { claim } = await newRegion(cluster.urls)
    const taken = [await claim(), await claim()]
    await cluster.kill(0)
    taken.push(await claim(), await claim())
    await cluster.kill(1)
    // The region may have a block in advance.
    await expect(takeAll(claim, taken)).rejects.toThrow(/No numbers of 'orders' are left here/)
    await cluster.start(1)
    await expect
      .poll(async () => taken.push(await claim()), { timeout: TIMEOUT })
      .toBeGreaterThan(0)
    expect(overlapping(taken)).toEqual([])
  })

  test('are asked with a client certificate', async () => {
    const folder = newFolder()
    const file = (name: string) => join(folder, name)
    makeCertificates(folder)
    // The gateway of a node shows the node its own certificate.
    writeFileSync(
      file('known.crt'),
      readFileSync(file('server.crt'), 'utf8') + readFileSync(file('client.crt'), 'utf8'),
    )
    const { urls } = await startEtcd(1, [
      ...['--cert-file', file('server.crt'), '--key-file', file('server.key')],
      ...['--client-cert-auth', '--trusted-ca-file', file('known.crt')],
    ])
    const certificate = { cert: file('client.crt'), key: file('client.key') }
    const { claim } = await newRegion(urls, { certificate, ca: file('server.crt') })
    expect(await claim()).toEqual([1, 32])
    const nobody = await newRegion(urls, { ca: file('server.crt') })
    await expect(nobody.claim()).rejects.toThrow(/No numbers of 'orders' are left here/)
  })

  test('are asked with a user and a password', async () => {
    const { urls } = await startEtcd(1)
    await withRoot(urls[0]!)
    const { claim } = await newRegion(urls, ROOT_USER)
    expect(await claim()).toEqual([1, 32])
    const mistaken = await newRegion(urls, { user: 'root', password: 'wrong' })
    await expect(mistaken.claim()).rejects.toThrow(/Check the addresses, user, password/)
    const nobody = await newRegion(urls)
    await expect(nobody.claim()).rejects.toThrow(/user name is empty/)
    const identity = { database: 'shop', name: 'invoices|', id: newId(), at: AT }
    await expect(nobody.ledger.nextIdentities([identity])).rejects.toThrow(/HiLo server/)
  })

  test('sign in again when a user was changed since, and their token says so', async () => {
    const folder = newFolder()
    const [pub, priv] = [join(folder, 'pub.pem'), join(folder, 'priv.pem')]
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    writeFileSync(pub, publicKey.export({ type: 'spki', format: 'pem' }))
    writeFileSync(priv, privateKey.export({ type: 'pkcs1', format: 'pem' }))
    const tokens = `jwt,pub-key=${pub},priv-key=${priv},sign-method=RS256`
    const { urls } = await startEtcd(1, ['--auth-token', tokens])
    const post = await withRoot(urls[0]!)
    const { claim } = await newRegion(urls, ROOT_USER)
    expect(await claim()).toEqual([1, 32])
    const { token } = (await (await post('authenticate', ROOT_NAMED)).json()) as { token: string }
    const added = await post('user/add', { name: 'anna', password: 'x' }, { Authorization: token })
    expect(added.status).toBe(200)
    expect([await claim(), await claim()]).toEqual([
      [33, 64],
      [65, 96],
    ])
  })

  test('take no block by the answer that another region got', async () => {
    const { urls } = await startEtcd(1)
    let last = ''
    let isRepeating = false
    const relay = createServer(async (request, response) => {
      const asked = await text(request)
      const isTake = asked.includes('request_put')
      if (isRepeating && isTake) return response.end(last)
      const answer = await fetch(urls[0] + request.url!, { method: 'POST', body: asked })
      const body = await answer.text()
      if (isTake) last = body
      response.writeHead(answer.status).end(body)
    })
    await once(relay.listen(0, '127.0.0.1'), 'listening')
    closes.push(async () => relay.close())
    const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
    // One claim: a second one would make it ask for more in the background, at any time.
    const taken = [await (await newRegion([url])).claim()]
    const other = await newRegion([url])
    isRepeating = true
    await expect(other.claim()).rejects.toThrow(/No numbers of 'orders' are left here/)
    isRepeating = false
    const claimed = () => other.claim().then((span) => taken.push(span), String)
    await expect.poll(claimed, { timeout: TIMEOUT }).toBe(2)
    expect(overlapping(taken)).toEqual([])
  })

  test.each([
    [{ etcd: [] }, /upstream.etcd: is empty/],
    [{ block: 5 }, /upstream.block: has to be at least 32/],
    [{ user: 'root' }, /upstream.password: goes with user/],
    [{ url: 'http://x' }, /url/],
  ])('refuse the setting %j', async (setting, message) => {
    await expect(newRegion(['http://127.0.0.1:2379'], setting)).rejects.toThrow(message)
  })

  test('a storm of kills, cuts and slow links', { timeout: 60_000 + STORMS * 30_000 }, async () => {
    const random = seededRandom(SEED)
    const cluster = await startEtcd()
    const regions = await Promise.all(
      Array.from({ length: 3 }, () => newRegion(cluster.urls, { reserve: 128 })),
    )
    const taken: number[][] = []
    let isOver = false
    const loops = regions.flatMap(({ claim }) =>
      Array.from({ length: 4 }, async () => {
        while (!isOver)
          await claim().then(
            (range) => taken.push(range),
            // As a device does that has to ask later: a loop without pauses would starve etcd.
            () => new Promise((resolve) => setTimeout(resolve, 20)),
          )
      }),
    )
    const granted = async (more: number) => {
      const goal = taken.length + more
      await expect.poll(() => taken.length, { timeout: TIMEOUT }).toBeGreaterThanOrEqual(goal)
    }
    for (let round = 0; round < STORMS; round++) {
      const node = Math.floor(random() * 3)
      await granted(50)
      const kind = Math.floor(random() * 3)
      if (kind === 0) await cluster.kill(node)
      else if (kind === 1) cluster.cutOff(node)
      else cluster.slowDown(node, 40)
      await granted(50)
      if (kind === 0) await cluster.start(node)
      else if (kind === 1) cluster.join(node)
      else cluster.slowDown(node, 0)
    }
    await granted(50)
    isOver = true
    await Promise.all(loops)
    expect(overlapping(taken), `TEST_SEED=${SEED}`).toEqual([])
  })
})
