/** A RavenDB, which knows no claim by POST: a device that has found that out remembers it. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ravenSource } from '../../src/source/raven-source.js'
import { RavenModel } from '../simulation/raven-model.js'
import { eventually } from '../support/eventually.js'
import { config, FakeWorld, failureOf, lease, must, ownerIn, target } from '../support/world.js'

let world: FakeWorld
let sent: string[]
/** What answers: a RavenDB, until a test puts another server in its place. */
let answer: (method: string, url: URL, body: string) => Promise<Response> | Response

beforeEach(() => {
  const witness = { granted() {}, excuse() {}, returned() {}, returnedAstray() {} }
  const raven = new RavenModel('A', witness, () => 0)
  answer = async (method, url) => {
    const asked = { method, url, from: '', headers: {}, answeredBy: 'A' }
    const { status, body } = await raven.handle(asked as never)
    return new Response(status === 204 ? null : body, { status })
  }
  sent = []
  vi.stubGlobal('fetch', async (url: string, { method, body }: RequestInit) => {
    sent.push(method!)
    return answer(method!, new URL(url), String(body))
  })
  world = new FakeWorld()
  const createSource = () => ravenSource({ url: config.url, timeout: 1_000 }, () => ({}))
  Object.assign(world, { createSource })
})
afterEach(() => {
  vi.unstubAllGlobals()
})

/** A page is opened, and claims for this collection. */
async function claimIn(collection = target.collection, want = 100) {
  const { owner } = ownerIn(world)
  must(await owner.exchange({ ...target, collection }, exchange(0)))
  return owner.claim({ ...target, collection }, want)
}

const exchange = (want: number) => ({
  ...{ page: 'page1', id: `page1:${sent.length}`, want, offer: false },
  ...{ notes: [], cuts: [], takeBack: [] },
})

test('is asked by GET at once after a reload', async () => {
  must(await claimIn())
  expect(sent).toEqual(['POST', 'GET'])
  sent = []
  must(await claimIn(target.collection, 200))
  expect(sent).toEqual(['GET'])
})

test('is so for another collection, too', async () => {
  must(await claimIn())
  sent = []
  const { owner } = ownerIn(world)
  must(await lease(owner, 1))
  must(await owner.claim({ ...target, collection: 'invoices' }, 1))
  expect(sent).toEqual(['GET'])
})

test('is not asked by GET where the answer to a POST was lost', async () => {
  const raven = answer
  let lose = (_: Error) => {}
  answer = () => new Promise((_, reject) => (lose = reject))
  const { owner } = ownerIn(world)
  const lost = owner.claim(target, 1)
  await eventually(() => expect(sent).toEqual(['POST']))
  answer = raven
  must(await owner.claim({ ...target, collection: 'invoices' }, 1))
  lose(new TypeError('fetch failed'))
  expect(failureOf(await lost)).toMatchObject({ code: 'server-unreachable' })
  expect(sent).toEqual(['POST', 'POST', 'GET'])
})

/** An offline-hilo-server, which has fewer numbers in stock than are asked for. */
const ours: typeof answer = (method, url, body) => {
  const grant = {
    ...{ Low: 501, High: 505, LastSize: 5, ServerTag: 'A' },
    ...{ LastRangeAt: '', Token: 'token', Ledger: 'second' },
  }
  const { searchParams: query } = url
  const range =
    method === 'GET'
      ? { ...grant, Prefix: `${query.get('tag')}/`, Claim: query.get('claim') }
      : { ...grant, Prefix: 'orders/', Claim: JSON.parse(body).claim }
  return Response.json(method === 'GET' ? range : { collections: [range] }, { status: 201 })
}

describe('that has become an offline-hilo-server is heard, and then asked by its route', () => {
  test('after a reload', async () => {
    must(await claimIn())
    answer = ours
    sent = []
    must(await claimIn(target.collection, 200))
    expect(sent[0]).toBe('GET')
    expect(await world.stored()).toMatchObject({ ledgers: { A: 'second' }, grants: ['token'] })
    sent = []
    await claimIn(target.collection, 300)
    expect(sent[0]).toBe('POST')
  })

  test('while a page is open', async () => {
    const { owner } = ownerIn(world)
    must(await owner.exchange(target, exchange(0)))
    must(await owner.claim(target, 100))
    answer = ours
    sent = []
    must(await owner.claim(target, 200))
    expect(sent).toEqual(['GET'])
    expect(await world.stored()).toMatchObject({ ledgers: { A: 'second' }, grants: ['token'] })
    sent = []
    await owner.claim(target, 300)
    expect(sent[0]).toBe('POST')
  })
})

test('that answers GET no more is asked by POST again', async () => {
  must(await claimIn())
  const refusal = { Type: 'RouteNotFoundException', Message: 'No.' }
  answer = () => Response.json(refusal, { status: 404 })
  const { owner } = ownerIn(world)
  must(await lease(owner, 0))
  sent = []
  await owner.claim(target, 200)
  await owner.claim(target, 200)
  expect(sent.slice(0, 2)).toEqual(['GET', 'POST'])
})

test.each([
  ['keeps what exceeds its reserve: a RavenDB takes back only the end of its counter', 32, 0],
  ['keeps nothing without a reserve: copies of the device are not found', 0, 84],
])('a device %s', async (_, reserve, surplus) => {
  must(await claimIn())
  const { owner } = ownerIn(world)
  const { view } = must(await owner.exchange({ ...target, reserve }, exchange(16)))
  expect(view).toMatchObject({ free: 84, surplus })
})
