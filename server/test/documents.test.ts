/**
 * The documents `Raven/Hilo/…` over HTTP. The ledger's promises are in ledger-number-lines.ts, the
 * official client's requests in ravendb.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { json, newHandler } from './handlers.js'

const DOCUMENT = '/databases/Shop/docs?id=Raven/Hilo/orders'

async function newDocuments() {
  const { ask } = await newHandler({ databases: ['Shop', 'Store'] })
  const put = (max: number, headers: Record<string, string> = {}, path = DOCUMENT) =>
    ask(path, json({ Max: max }, 'PUT', headers))
  const max = async () => (await ask(DOCUMENT)).body?.Results[0].Max
  return { ask, put, max }
}

test.each([
  [
    ['c1 33-64', 'c1 65-96'],
    ['c1 33-64', 'c1 65-96'],
  ],
  ['c1 33-64', undefined],
])('the answer to a write with the Claims %j has the Claims %j', async (Claims, answered) => {
  const { ask, max } = await newDocuments()
  const { status, body } = await ask(DOCUMENT, json({ Max: 96, Claims }, 'PUT'))
  expect([status, body?.Claims, await max()]).toEqual([201, answered, 96])
})

describe('If-None-Match: *', () => {
  test('makes a document that is not there, and is answered 412 when it is', async () => {
    const { put, max } = await newDocuments()
    expect((await put(32, { 'If-None-Match': '*' })).status).toBe(201)
    expect(await put(64, { 'If-None-Match': '*' })).toMatchObject({
      status: 412,
      body: {
        Type: 'Raven.Client.Exceptions.ConcurrencyException',
        Message: expect.stringContaining('but Put was called with expecting new document'),
      },
    })
    expect(await max()).toBe(32)
  })

  test('is ignored by a deletion; its condition is If-Match, or else 409', async () => {
    const { ask, put } = await newDocuments()
    await put(32)
    const headers = { 'If-Match': '""', 'If-None-Match': '*' }
    expect((await ask(DOCUMENT, { method: 'DELETE', headers })).status).toBe(409)
  })

  test('of many at once makes one', async () => {
    const { put } = await newDocuments()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => put(i + 1, { 'If-None-Match': '*' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(412)])
  })

  test('finds the document of a collection that only claims have moved', async () => {
    const { ask, put, max } = await newDocuments()
    await ask('/databases/Shop/hilo/next?tag=orders')
    expect((await put(1_000, { 'If-None-Match': '*' })).status).toBe(412)
    expect(await max()).toBe(32)
  })

  test.each([
    ['a version', { 'If-None-Match': '"A:1-abc"' }],
    ['both conditions', { 'If-None-Match': '*', 'If-Match': '""' }],
  ])('%s is refused rather than misunderstood', async (_, headers) => {
    const { put, max } = await newDocuments()
    expect(await put(32, headers)).toMatchObject({
      status: 400,
      body: { Message: expect.stringContaining('Nothing was written') },
    })
    expect(await max()).toBeUndefined()
  })
})

describe('If-Match', () => {
  test('answers all others 409', async () => {
    const { put, max } = await newDocuments()
    const { body: old } = await put(32)
    await put(64)
    const { body: other } = await put(32, {}, DOCUMENT.replace('Shop', 'Store'))
    await put(64, {}, DOCUMENT.replace('Shop', 'Store'))
    const foreign = other.ChangeVector.replace(/:\d+/, ':2')
    for (const version of [
      old.ChangeVector,
      foreign,
      '""',
      '"offline-hilo-probe"',
      '*',
      'A:2',
      '2',
    ])
      expect((await put(96, { 'If-Match': version })).status, version).toBe(409)
    expect(await max()).toBe(64)
  })
})
