/** The server as a Worker with an object per database, in the real workerd. */
import { once } from 'node:events'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/eventually.js'
import { seed, sizeOf } from '../../../../test/support/sizes.js'
import { PRUNE_INTERVAL_MS } from '../../../src/ledger/prune.js'
import { overlaps, seededRandom, startDevices, TAGS } from '../../devices.js'
import { json } from '../../handlers.js'
import { runCli } from '../../run-cli.js'
import { startWorkerd, type Workerd, type WorkerdOptions } from './workerd.js'
import { hasWorkerd, unlessWorkerd } from './workerd-program.js'

const KILLS = sizeOf('KILLS')
const TIMEOUT = 60_000 + KILLS * 20_000
const DEVICES = 64
const TOKEN = 'operator-of-the-tests'
const OPERATOR = { Authorization: `Bearer ${TOKEN}` }
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'

let running: Workerd[] = []
afterEach(async () => {
  await Promise.all(running.map((each) => each.kill()))
  running = []
})

async function start(options?: WorkerdOptions) {
  const workerd = await startWorkerd(options)
  running.push(workerd)
  return workerd
}

const claim = (url: string, database = 'Shop', query = 'tag=orders', headers = {}) =>
  fetch(`${url}/databases/${database}/hilo/next?${query}`, { headers })

/** Sends a path as it is. `fetch` would read it first. */
async function sent(url: string, path: string, method = 'GET', host = new URL(url).host) {
  const { hostname, port } = new URL(url)
  const asked = httpRequest({ hostname, port, method, path, headers: { host } }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, text: Buffer.concat(await answer.toArray()).toString() }
}

/** Files of objects. workerd has one more of its own. */
const objectsIn = ({ disk }: Workerd): string[] =>
  readdirSync(disk, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /[\da-f]{64}\.sqlite$/.test(name),
  )

describe.skipIf(!hasWorkerd)(`in workerd${unlessWorkerd}`, () => {
  test('each listed database has its numbers, and no other name makes an object', async () => {
    const workerd = await start({ options: { databases: ['Shop', 'Depot'] } })
    const { url } = workerd
    // A path that is written in another way is read once, and not a second time by somebody else.
    const written = await fetch(`${url}/%64atabases/Shop/hilo/next?tag=bills`)
    expect(await written.json()).toMatchObject({ Low: 1, High: 32 })
    for (const name of ['Shop', 'sHOP', 'Sh%6Fp'])
      expect([name, (await claim(url, name)).status]).toEqual([name, 201])
    expect(await (await claim(url, 'SHOP')).json()).toMatchObject({ Low: 97, High: 128 })
    expect(await (await claim(url, 'Depot')).json()).toMatchObject({ Low: 1, High: 32 })
    expect((await claim(url, 'Other')).status).toBe(500)
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(`${url}/topology?name=Shop`)).status).toBe(200)
    expect((await fetch(`${url}/metrics`)).status).toBe(400)
    expect(objectsIn(workerd)).toHaveLength(2)
  })

  test('an address with dots leads to the object of the database that it is read as', async () => {
    const { url } = await start({ options: { databases: ['Shop', 'Depot'] } })
    const lowAt = async (path: string) => JSON.parse((await sent(url, path)).text).Low
    expect(await lowAt('/databases/Depot/hilo/next?tag=orders')).toBe(1)
    expect(await lowAt('/databases/Shop/../Depot/hilo/next?tag=orders')).toBe(33)
    expect(await lowAt('/databases/Shop/%2E%2e/Depot/hilo/next?tag=orders')).toBe(65)
    expect(await lowAt('/databases/Shop/hilo/next?tag=orders')).toBe(1)
  })

  test('a request without an address is refused, and is no failure', async () => {
    const { url, output } = await start()
    const answers = [
      await sent(url, '*', 'OPTIONS'),
      await sent(url, '/databases/Shop/hilo/next?tag=orders', 'GET', 'one.test, two.test'),
    ]
    for (const { status, text } of answers) {
      expect(status).toBe(400)
      expect(JSON.parse(text).Message).toContain('names no address')
    }
    expect(output()).not.toContain('A database did not answer')
  })

  test('/healthz names the ledger of each database, and others that devices hold', async () => {
    const { url } = await start({ options: { databases: ['Shop', 'Depot'] } })
    const collections = [{ tag: 'orders', count: 1, ledgers: { A: 'otherotherother2' } }]
    await fetch(`${url}/databases/Shop/hilo/next`, json({ claim: ID, collections }))
    const health = await (await fetch(`${url}/healthz`)).json()
    expect(health).toEqual({
      status: 'ok',
      ledgers: { shop: expect.any(String), depot: expect.any(String) },
      stopped: [],
      others: { shop: ['otherotherother2'] },
    })
    const statusOf = async (path: string, method = 'GET') =>
      (await fetch(`${url}/${path}`, { method })).status
    expect(await statusOf('%68ealthz')).toBe(200)
    expect(await statusOf('healthz', 'POST')).toBe(400)
    expect(await statusOf('healthz?database=Depot')).toBe(200)
    expect(await statusOf('healthz?database=Depto')).toBe(404)
    const { Ledger } = await (await claim(url, 'Shop', `tag=lines&claim=${ID}`)).json()
    expect(health.ledgers.shop).toBe(Ledger)
    expect(health.ledgers.depot).not.toBe(Ledger)
  })

  test.each([
    ['the example', '../../../../examples/cloudflare/worker.js', { ORDERS: 'Orders' }],
    ['the Worker of one origin', '../../../deploy/one-origin/cloudflare/worker.js', {}],
  ])('%s refuses until somebody says who may ask', async (_, source, more) => {
    const objects = { HILO: 'HiloDatabase', ...more }
    const startWith = (variables: Record<string, string>) =>
      start({ source, objects, variables: { HILO_CREATE: 'yes', ...variables } })
    const without = await startWith({})
    expect([(await claim(without.url)).status, objectsIn(without)]).toEqual([500, []])
    expect((await fetch(`${without.url}/healthz`)).status).toBe(500)
    expect(without.output()).toContain('Nobody has said who may ask')
    const { url } = await startWith({ ID_TOKENS: `${TOKEN},another-of-the-tests` })
    expect((await claim(url)).status).toBe(403)
    const take = () => claim(url, 'Shop', 'tag=orders&lastBatchSize=1048576', OPERATOR)
    expect([(await take()).status, (await take()).status]).toEqual([201, 429])
    const open = await startWith({ HILO_OPEN: 'true' })
    expect((await claim(open.url)).status).toBe(201)
  })

  test('a Worker without the binding says in its log what it lacks', async () => {
    const { url, output } = await start({ objects: { IDS: 'HiloDatabase' } })
    expect((await claim(url)).status).toBe(500)
    expect(output()).toContain('has no binding HILO')
  })

  test('the example grants once its ledger may be made, and stores an order once', async () => {
    const source = '../../../../examples/cloudflare/worker.js'
    const objects = { HILO: 'HiloDatabase', ORDERS: 'Orders' }
    const variables = { HILO_OPEN: 'true' }
    const { url } = await start({
      source,
      objects,
      variables: { ...variables, HILO_CREATE: 'yes' },
    })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(await (await claim(url)).json()).toMatchObject({ Low: 1, High: 32 })
    const order = { id: 'orders/1-A', customer: 'Ada', madeAt: '2026-11-21T07:09:21.466Z' }
    const statusOf = async (body: object, headers = {}) =>
      (await fetch(`${url}/api/orders`, json(body, 'POST', headers))).status
    expect([await statusOf(order), await statusOf(order)]).toEqual([201, 201])
    expect(await statusOf({ ...order, customer: 'Grace' })).toBe(409)
    expect(await statusOf({ id: 'orders/2-A' })).toBe(400)
    expect(await statusOf(order, { 'Content-Type': 'text/plain' })).toBe(415)
    expect(await (await fetch(`${url}/api/orders`)).json()).toEqual([order])
    const without = await start({ source, objects, variables })
    expect((await claim(without.url)).status).toBe(503)
  })

  test('pages of its own origin and of listed ones may ask, others may not', async () => {
    const { url } = await start({ options: { cors: { origins: ['https://app.test'] } } })
    const statusFor = async (Origin: string) =>
      (await claim(url, 'Shop', 'tag=a', { Origin })).status
    expect(await statusFor(url)).toBe(201)
    expect(await statusFor('https://app.test')).toBe(201)
    expect(await statusFor('https://evil.test')).toBe(403)
  })

  test('an object without a ledger makes none unless somebody says so', async () => {
    const first = await start({ options: { create: false } })
    const refused = await claim(first.url, 'Shop', 'tag=a', { Origin: first.url })
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '1'])
    expect(first.output()).toContain('There is no ledger in this Durable Object')
    await first.kill()
    const { folder } = first
    const second = await start({ folder, options: { create: true } })
    expect((await claim(second.url)).status).toBe(201)
    await second.kill()
    const third = await start({ folder, options: { create: false } })
    expect(await (await claim(third.url)).json()).toMatchObject({ Low: 33 })
  })

  test('an object whose ids end in another node tag grants nothing', async () => {
    const first = await start()
    expect(await (await claim(first.url)).json()).toMatchObject({ Low: 1, ServerTag: 'A' })
    await first.kill()
    const { folder } = first
    const other = await start({ folder, options: { nodeTag: 'B' } })
    const refused = await claim(other.url)
    expect(refused.status).toBe(503)
    expect((await refused.json()).Message).toContain("other ids than its ledger's")
  })

  test('an object that cannot be opened tells the operator why, and nobody else', async () => {
    const { url, output } = await start({ options: { create: false, operatorToken: TOKEN } })
    const WHY = 'There is no ledger in this Durable Object'
    expect(await (await claim(url)).text()).not.toContain(WHY)
    const asked = await fetch(`${url}/operator/Shop/status`, json({}, 'POST', OPERATOR))
    expect([asked.status, (await asked.json()).Message]).toEqual([
      503,
      expect.stringContaining(WHY),
    ])
    expect(output().split(WHY)).toHaveLength(3)
  })

  test('an object is asked about its own database, also by a Worker of the owner', async () => {
    const { url } = await start({
      source: './direct-worker.ts',
      options: { databases: ['Shop', 'Depot'], operatorToken: TOKEN },
    })
    const askedOf = async (object: string, body: object, path = 'fetch') =>
      (await fetch(`${url}/direct/${object}/${path}`, json(body))).json()
    const next = (database: string) => ({ path: `/databases/${database}/hilo/next?tag=orders` })
    expect(await (await claim(url, 'Depot')).json()).toMatchObject({ Low: 1, High: 32 })
    expect(await askedOf('depot', next('DEPOT'))).toMatchObject({ Low: 33, High: 64 })
    const refused = { Message: expect.stringContaining('is the object of') }
    // Each of them would begin at 1.
    expect(await askedOf('shop', next('Depot'))).toMatchObject(refused)
    expect(await askedOf('Depot', next('Depot'))).toMatchObject(refused)
    const floors = { database: 'Depot', by: 100 }
    expect(await askedOf('shop', floors, 'raiseFloors')).toMatchObject(refused)
    expect(await askedOf('depot', floors, 'raiseFloors')).toMatchObject({ collections: 1 })
    expect(await (await claim(url, 'Depot')).json()).toMatchObject({ Low: 165 })
  })

  test('a mistake in a program of the owner drops nothing, and stops no collection', async () => {
    const { url } = await start({ source: './direct-worker.ts' })
    const direct = async (method: string, asked: unknown) =>
      (await fetch(`${url}/direct/shop/${method}`, json(asked as object))).json()
    await claim(url)
    const database = 'Shop'
    for (const [method, asked, told] of [
      // Mistyped: without the collection, it would be the whole database.
      ['drop', { database, colection: 'lines' }, 'Did you mean'],
      ['raiseFloor', { database, collection: 'orders', floor: 1.5 }, 'floor'],
      ['raiseFloor', { database, collection: 'orders', floor: 'abc' }, 'floor'],
      ['raiseFloors', { database: 7, by: 100 }, 'database'],
      ['handOverSeries', { database }, 'collection'],
    ] as const)
      expect(await direct(method, asked)).toMatchObject({ Message: expect.stringContaining(told) })
    expect(await (await claim(url)).json()).toMatchObject({ Low: 33 })
    expect(await direct('raiseFloors', { by: 100 })).toMatchObject({
      Message: expect.stringContaining('database'),
    })
    expect(await direct('raiseFloors', { database, by: 100 })).toMatchObject({ collections: 1 })
    for (const asked of [null, {}, 'SHOP', { database }])
      expect(await direct('status', asked)).toMatchObject([{ collection: 'orders', max: 164 }])
    for (const asked of [{}, database]) expect(await direct('series', asked)).toEqual([])
  })

  test('files of another object in the place of its own: it grants nothing', async () => {
    const options = { databases: ['Shop', 'Depot'], operatorToken: TOKEN }
    const source = './direct-worker.ts'
    const { folder, ...first } = await start({ source, options })
    await claim(first.url, 'Shop')
    const [ofShop] = objectsIn(first) as [string]
    await claim(first.url, 'Depot')
    const ofDepot = objectsIn(first).find((name) => name !== ofShop)!
    await first.kill()
    for (const end of ['', '-wal', '-shm'])
      cpSync(`${first.disk}/${ofShop}${end}`, `${first.disk}/${ofDepot}${end}`)
    const { url } = await start({ source, folder, options })
    // It would begin at 1: the other ledger has no number of this database.
    expect((await claim(url, 'Depot')).status).toBe(503)
    const asked = await fetch(`${url}/operator/Depot/status`, json({}, 'POST', OPERATOR))
    expect((await asked.json()).Message).toContain("has the ledger of 'shop'")
    expect(await (await claim(url, 'Shop')).json()).toMatchObject({ Low: 33 })
  })

  test('a lost secret is replaced by a method of the owner, then floors are raised', async () => {
    const source = './direct-worker.ts'
    const startWith = (secret: string, more = {}) =>
      start({ source, options: { operatorToken: TOKEN, secrets: [secret.repeat(32)] }, ...more })
    const first = await startWith('a')
    await claim(first.url)
    await first.kill()
    const { url } = await startWith('b', { folder: first.folder })
    const operate = async (what: string, body = {}) =>
      (await fetch(`${url}/operator/Shop/${what}`, json(body, 'POST', OPERATOR))).json()
    const change = (text: string) => fetch(`${url}/direct/shop/changeRow`, json(text))
    expect(await operate('status')).toMatchObject({
      Message: expect.stringContaining('remove the row `secret`'),
    })
    await change("DELETE FROM hilo_meta WHERE key = 'secret'")
    expect(await operate('status')).toMatchObject({
      Message: expect.stringContaining('add the row with a random text'),
    })
    await change("INSERT INTO hilo_meta VALUES ('secret', hex(randomblob(32)))")
    expect(await operate('raise-floors', { by: 100 })).toMatchObject({ collections: 1 })
    expect(await (await claim(url)).json()).toMatchObject({ Low: 133 })
  })

  test('an operator with the token looks at a ledger, raises its floors, drops it', async () => {
    const { url } = await start({ options: { operatorToken: TOKEN } })
    await claim(url)
    const operate = async (what: string, body = {}, headers: Record<string, string> = OPERATOR) => {
      const response = await fetch(`${url}/operator/Shop/${what}`, json(body, 'POST', headers))
      return [response.status, await response.json()]
    }
    expect(await operate('status', {}, {})).toMatchObject([403, {}])
    expect(await operate('status')).toMatchObject([200, [{ collection: 'orders', max: 32 }]])
    const where = { collection: 'orders', number: 9 }
    expect(await operate('explain', where)).toMatchObject([200, { id: { state: 'held' } }])
    expect(await operate('explain', { ...where, number: 0 })).toMatchObject([400, {}])
    expect(await operate('raise-floors', { by: 0 })).toMatchObject([400, {}])
    expect(await operate('raise-floors', { by: 1000 })).toMatchObject([200, { collections: 1 }])
    expect(await (await claim(url)).json()).toMatchObject({ Low: 1033 })
    expect(await operate('drop', { collection: 'orders' })).toMatchObject([200, {}])
    expect(await operate('status')).toEqual([200, []])
    expect(await operate('series')).toEqual([200, []])
    const over = { collection: 'receipts', letter: 'T3', to: 'Till 4', last: 9, by: 'anna' }
    expect(await operate('hand-over-series', over)).toMatchObject([400, {}])
    expect(await operate('hand-over-series', { ...over, reason: 'stolen' })).toEqual([
      200,
      { refused: 'missing' },
    ])
    const series = json({ claim: ID, collection: 'receipts', series: 'T3' })
    const begin = () => fetch(`${url}/databases/Shop/hilo/series`, series)
    expect(await begin()).toMatchObject({ status: 503 })
    expect(await operate('unlisted')).toEqual([200, ['shop']])
    expect(await operate('reopen-series')).toEqual([200, true])
    expect(await begin()).toMatchObject({ status: 201 })
    const handOver = (more: object) =>
      operate('hand-over-series', { ...over, reason: 'stolen', ...more })
    for (const more of [{}, { period: '2027' }, { newPeriod: true }])
      expect(await handOver(more)).toEqual([200, { refused: 'periods', known: [] }])
    expect(await handOver({ period: 2027 })).toMatchObject([400, {}])
    const stated = { period: '2027', newPeriod: true }
    expect(await handOver({ ...stated, dryRun: true })).toMatchObject([200, { device: 'Till 4' }])
    expect(await operate('series')).toMatchObject([200, [{ letter: 'T3', device: '' }]])
    expect(await handOver(stated)).toMatchObject([200, { device: 'Till 4' }])
    const gift = { collection: 'receipts', letter: 'T4', range: { from: 9, to: 1 } }
    expect(await operate('give-range', gift)).toMatchObject([400, {}])
    expect(await operate('give-range', { ...gift, range: { from: 1, to: 9 } })).toEqual([
      200,
      { refused: 'missing' },
    ])
    const again = { ...gift, letter: 'T3', range: { from: 9, to: 20 } }
    expect(await operate('give-range', again)).toEqual([
      200,
      { refused: 'heard', letter: 'T3', from: 1, to: 9 },
    ])
    expect(await operate('restore')).toMatchObject([400, {}])
  })

  test('a mistake of an operator is a refusal that says what it is', async () => {
    const { url } = await start({ options: { operatorToken: TOKEN } })
    await claim(url)
    const operate = async (path: string, body: object) => {
      const response = await fetch(`${url}/operator/${path}`, json(body, 'POST', OPERATOR))
      return [response.status, (await response.json()) as { Message: string }]
    }
    const by = Number.MAX_SAFE_INTEGER
    expect(await operate('Shop/raise-floors', { by })).toMatchObject([
      400,
      { Message: expect.stringContaining(`${by}`) },
    ])
    expect(await operate('%/status', {})).toMatchObject([
      400,
      { Message: expect.stringContaining('not encoded') },
    ])
  })

  test('an operator’s request that cannot be read drops nothing', async () => {
    const { url } = await start({ options: { operatorToken: TOKEN } })
    await claim(url)
    const operate = (what: string, body: string) =>
      fetch(`${url}/operator/Shop/${what}`, { method: 'POST', headers: OPERATOR, body })
    // Cut off, and mistyped: without the collection, it would be the whole database.
    for (const body of [
      '{"collection": "line',
      "{'collection': 'lines'}",
      'collection=lines',
      '',
    ]) {
      const refused = await operate('drop', body)
      expect([refused.status, (await refused.json()).Message]).toEqual([
        400,
        expect.stringContaining('Nothing was done'),
      ])
    }
    expect(await (await operate('status', '{}')).json()).toMatchObject([{ collection: 'orders' }])
  })

  test('the command line operates a ledger behind its address', async () => {
    const { url } = await start({ options: { databases: ['Shop', 'Depot'], operatorToken: TOKEN } })
    const run = async (args: string[]) => {
      const { stdout, stderr } = await runCli([...args, '--url', url], {
        HILO_OPERATOR_TOKEN: TOKEN,
      })
      return stdout + stderr
    }
    await claim(url)
    expect(await run(['status', 'Shop'])).toMatch(/^shop +orders +32 +32 /m)
    expect(await run(['explain', 'Shop', 'orders', '9'])).toMatch(/^orders 9 of shop: /)
    expect(await run(['raise-floor', 'Shop', 'orders', '500', '--yes'])).toContain('goes on at 501')
    expect(await run(['raise-floor', 'Shop', 'order', '500'])).toContain('Nothing was changed')
    expect(await run(['raise-floor', 'Shop', '--all', '--by', '100', '--yes'])).toContain(
      'grants again',
    )
    expect(await (await claim(url)).json()).toMatchObject({ Low: 601 })

    const asked = json({ claim: ID, collection: 'receipts', device: 'Till 3' })
    const series = await fetch(`${url}/databases/Shop/hilo/series`, asked)
    const { series: letter } = (await series.json()) as { series: string }
    const onSeries = (...args: string[]) => run(['series', 'Shop', ...args])
    expect(await onSeries()).toMatch(/^receipts .* Till 3 /m)
    const why = ['--reason', 'stolen', '--by', 'anna']
    const to = ['--hand-over', letter, '--to', 'Till 4', '--last', '7']
    expect(await onSeries(...to, ...why, '--yes')).toContain('say --no-period')
    expect(await onSeries(...to, ...why, '--no-period')).toContain('To do it, add --yes.')
    const done = await onSeries(...to, ...why, '--no-period', '--yes')
    expect(done).toContain(`The next document is ${letter}-000008.\n`)
    expect(done).toContain('goes to Till 4')
    expect(await onSeries(...to, ...why, '--no-period')).toContain('has done exactly this')
    expect(await onSeries('--exists', 'T9', '--collection', 'receipts', '--yes')).toContain(
      'is listed',
    )
    expect(await onSeries('--all-listed')).toContain('These series of Shop exist: receipts ')
    expect(await onSeries('--all-listed', '--yes')).toContain('gives names and ranges again')
    expect(await onSeries('--all-listed')).toContain('gives names and ranges already')
    const range = ['--give', letter, '--range', '2001-3000', '--until', '2027-12-31']
    expect(await onSeries(...range, '--yes')).toContain('has the numbers 2001 to 3000')
    expect(await onSeries('--give', letter, '--range', '7-9')).toContain('has numbers from 1 to 7')
    expect(await onSeries('--rename', letter, '--to', 'Till 5', '--yes')).toContain('Till 5 here')
    expect(await run(['drop', 'Shop'])).toContain(`are not closed: ${letter}`)
    expect(await onSeries('--close', letter, ...why, '--yes')).toContain('closed, by anna')
    await onSeries('--close', 'T9', ...why, '--yes')
    expect(await run(['drop', 'Shop'])).toContain('Nothing was changed')
    expect(await run(['drop', 'Shop', '--yes'])).toContain('Dropped Shop')
    expect(await run(['status', 'Shop'])).toMatch(/^Ledger \w{16}\nNo collection yet\.\n$/)
    expect(await run(['status', 'Other'])).toContain("Database 'Other' does not exist")
    expect(await run(['status', 'Depot'])).toMatch(/^Ledger \w{16}\nNo collection yet\.\n$/)
  })

  test('a leaked secret is renewed, and claims go on at once', async () => {
    const { url } = await start({ options: { operatorToken: TOKEN } })
    const { Token } = await (await claim(url)).json()
    const checkIn = async (id: string, token: string) => {
      const body = json({ id, grants: [{ token, next: 1 }] })
      return (await fetch(`${url}/databases/Shop/hilo/checkin`, body)).json()
    }
    const path = `${url}/operator/Shop/renew-secret`
    expect((await fetch(path, json({}, 'POST', OPERATOR))).status).toBe(200)
    expect(await checkIn(ID, Token)).toMatchObject({ grants: [{ unknown: true }] })
    const next = await (await claim(url)).json()
    expect(next).toMatchObject({ Low: 33, High: 64 })
    const again = await checkIn(ID.replace('6b', '6c'), next.Token)
    expect(again).toMatchObject({ grants: [{ high: 64 }] })
    const command = ['renew-secret', 'Shop', '--url', url]
    const environment = { HILO_OPERATOR_TOKEN: TOKEN }
    expect((await runCli(command, environment)).stderr).toContain('Nothing was changed.')
    expect((await runCli([...command, '--yes'], environment)).stdout).toContain('new secret')
  })

  test('a secret is renewed while 40 devices claim: none hears of another ledger', async () => {
    const { url, output } = await start({ options: { operatorToken: TOKEN } })
    // Without repetitions: the same grant would come with another token.
    const devices = startDevices(40, { url: async () => url, random: () => 0.5 })
    for (let renewal = 0; renewal < 5; renewal++) {
      await devices.answered(80)
      const renew = () => fetch(`${url}/operator/Shop/renew-secret`, json({}, 'POST', OPERATOR))
      const answers = await Promise.all([renew(), renew()])
      expect(answers.map(({ status }) => status)).toContain(200)
    }
    await devices.answered(80)
    await devices.stop()
    expect(devices.faults).toEqual([])
    for (const tag of TAGS) expect(overlaps(devices.heldOf(tag))).toEqual([])
    expect(output()).not.toContain('ANOTHER LEDGER')
  })

  test('killed while 64 devices claim, it grants no number twice', {
    timeout: TIMEOUT,
  }, async () => {
    const random = seededRandom(seed())
    let workerd = await start()
    const { folder } = workerd
    const port = Number(new URL(workerd.url).port)
    const devices = startDevices(DEVICES, { url: async () => workerd.url, random })
    for (let kill = 0; kill < KILLS; kill++) {
      await devices.answered(1 + Math.floor(random() * 300))
      await workerd.kill()
      workerd = await start({ folder, port })
    }
    await devices.answered(DEVICES)
    await devices.stop()
    expect(devices.faults).toEqual([])
    for (const tag of TAGS) {
      expect(overlaps(devices.heldOf(tag))).toEqual([])
      expect(devices.heldOf(tag).length).toBeGreaterThan(KILLS)
    }
  })

  test('on a full disk no claim is granted that is not kept', { timeout: TIMEOUT }, async () => {
    const under = ['/bin/sh', '-c', 'ulimit -f 1200; exec "$0" "$@"']
    const full = await start({ under })
    const answers = new Map<string, string>()
    let refused = 0
    for (let i = 0; i < 5_000 && refused < 3; i++) {
      const query = `tag=orders&claim=${ID.slice(0, -6)}${String(i).padStart(6, '0')}`
      const response = await claim(full.url, 'Shop', query).catch(() => undefined)
      if (response?.status === 201) answers.set(query, await response.text())
      else {
        if (response) expect([query, response.status]).toEqual([query, 503])
        refused++
      }
    }
    expect(refused).toBeGreaterThan(0)
    expect(answers.size).toBeGreaterThan(10)
    await full.kill()
    const { url } = await start({ folder: full.folder })
    for (const [query, text] of [...answers].slice(-50))
      expect(await (await claim(url, 'Shop', query)).text()).toBe(text)
    const lows = [...answers.values()].map((text) => JSON.parse(text).Low)
    expect(new Set(lows).size).toBe(lows.length)
  })

  test('an object that has forgotten its memory knows what a token has used', async () => {
    const headers = { Authorization: 'Bearer the-token-of-one-till' }
    const other = { Authorization: 'Bearer the-token-of-another' }
    const tokens = ['the-token-of-one-till', 'the-token-of-another']
    const options = { open: false, databases: ['Shop'], tokens, limits: { numbersPerHour: 64 } }
    const { folder, ...first } = await start({ options })
    const statusAt = async (url: string, of = headers) =>
      (await claim(url, 'Shop', 'tag=orders', of)).status
    expect([await statusAt(first.url), await statusAt(first.url)]).toEqual([201, 201])
    await first.kill()
    const { url } = await start({ folder, options })
    expect(await statusAt(url)).toBe(429)
    expect(await statusAt(url, other)).toBe(201)
  })

  test('a budget that is whole again is not kept', async () => {
    const source = './direct-worker.ts'
    const tokens = ['the-token-of-yesterday', 'the-token-of-today']
    const options = { open: false, tokens }
    const { folder, ...first } = await start({ source, options })
    const direct = async (url: string, method: string, asked: unknown) =>
      (await fetch(`${url}/direct/shop/${method}`, json(asked as object))).json()
    const ask = async (url: string, token: string) =>
      (await claim(url, 'Shop', 'tag=orders', { Authorization: `Bearer ${token}` })).status
    const budgets = "SELECT count(*) AS n FROM hilo_meta WHERE key LIKE 'budget:%'"
    for (const token of tokens) expect(await ask(first.url, token)).toBe(201)
    expect(await direct(first.url, 'changeRow', budgets)).toEqual([{ n: 2 }])
    await direct(
      first.url,
      'changeRow',
      "UPDATE hilo_meta SET value = json_set(value, '$.at', 1) WHERE key LIKE 'budget:%'",
    )
    await first.kill()
    const { url } = await start({ source, folder, options })
    expect(await ask(url, tokens[1]!)).toBe(201)
    expect(await direct(url, 'changeRow', budgets)).toEqual([{ n: 1 }])
  })

  test('the alarm of an object prunes its old rows, and is set for the next day', async () => {
    const { url } = await start({
      source: './direct-worker.ts',
      options: { operatorToken: TOKEN },
    })
    const direct = async (method: string, asked: unknown = {}) =>
      (await fetch(`${url}/direct/shop/${method}`, json(asked as object))).json()
    const status = async () =>
      (await fetch(`${url}/operator/Shop/status`, json({}, 'POST', OPERATOR))).json()
    await claim(url)
    await direct('changeRow', 'UPDATE hilo_grants SET heard_at = 1')
    expect(await status()).toMatchObject([{ max: 32, grants: 1 }])
    const rung = Number(await direct('ring'))
    await eventually(async () => expect(await status()).toMatchObject([{ max: 32, grants: 0 }]))
    await eventually(async () =>
      expect(await direct('alarmAt')).toBeGreaterThanOrEqual(rung + PRUNE_INTERVAL_MS),
    )
    expect(await (await claim(url)).json()).toMatchObject({ Low: 33 })
  })

  test('a storage that was put back grants nothing once a device shows it', async () => {
    const first = await start({ options: { operatorToken: TOKEN } })
    const { folder, disk } = first
    await claim(first.url)
    await first.kill()
    cpSync(disk, `${folder}/backup`, { recursive: true })
    const second = await start({ folder, options: { operatorToken: TOKEN } })
    const lost = await (await claim(second.url, 'Shop', `tag=orders&claim=${ID}`)).json()
    expect(lost).toMatchObject({ Low: 33, High: 64 })
    await second.kill()
    rmSync(disk, { recursive: true })
    cpSync(`${folder}/backup`, disk, { recursive: true })
    const { url } = await start({ folder, options: { operatorToken: TOKEN } })
    const checkIn = await fetch(
      `${url}/databases/Shop/hilo/checkin`,
      json({ id: ID, grants: [{ token: lost.Token, next: 40 }] }),
    )
    expect(checkIn.status).toBeLessThan(300)
    expect((await claim(url)).status).toBe(503)
    expect((await fetch(`${url}/healthz?database=*`)).status).toBe(503)
    await fetch(`${url}/operator/Shop/raise-floors`, json({ by: 1000 }, 'POST', OPERATOR))
    expect(await (await claim(url)).json()).toMatchObject({ Low: 1033 })
  })
})
