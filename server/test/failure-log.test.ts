/** What the log says of failures: enough to act on, and not a line per request. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { failureLog, UnknownToken } from '../src/http/log.js'
import { toRefusal } from '../src/http/refusals.js'
import { LedgerUnavailable } from '../src/index.js'
import { UpstreamUnavailable } from '../src/ledger/ledger-errors.js'
import { json, newHandler } from './handlers.js'

const newLog = () => ({ info: vi.fn(), error: vi.fn() })

test('an outage is one short line in ten seconds, then how often it happened', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const log = newLog()
  const report = failureLog(log)
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) report(new LedgerUnavailable('PostgreSQL did not do it: gone.'))
  }
  fail(1_000)
  report(new LedgerUnavailable('another'))
  vi.advanceTimersByTime(9_999)
  fail(1)
  vi.advanceTimersByTime(1)
  fail(1_000)
  const text = 'The database does not answer.'
  expect(log.error.mock.calls).toEqual([
    [{ reason: 'PostgreSQL did not do it: gone.' }, text],
    [{ reason: 'another' }, text],
    [{ reason: 'PostgreSQL did not do it: gone.', more: 1_000 }, text],
  ])
})

test('many tokens that the ledger never wrote are a loud line at once, and one', () => {
  const log = newLog()
  const report = failureLog(log)
  for (let i = 0; i < 20; i++) report(new UnknownToken('Shop'))
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { database: 'Shop' },
    expect.stringContaining('A device showed a grant token'),
  )
  for (let i = 0; i < 1_000; i++) report(new UnknownToken('Shop'))
  report(new UnknownToken('Store'))
  expect(log.error.mock.calls.slice(1)).toEqual([
    [
      { database: 'Shop', more: 20 },
      expect.stringContaining('IS IT THE RIGHT ONE? After renew-secret it is:'),
    ],
    [{ database: 'Store' }, expect.stringContaining('A device showed a grant token')],
  ])
})

test('tokens that another ledger wrote are counted, and are a loud line', async () => {
  const log = newLog()
  const lost = await newHandler()
  const claim = { claim: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10' }
  const asked = json({ ...claim, collections: [{ tag: 'orders', count: 32 }] })
  const { collections } = (await lost.ask('/databases/Shop/hilo/next', asked)).body
  const { ask, handler } = await newHandler({ log })
  const grants = [{ token: collections[0].Token, next: 1 }]
  for (let i = 0; i < 21; i++) {
    const id = `6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f${10 + i}`
    await ask('/databases/Shop/hilo/checkin', json({ id, grants }))
  }
  const series = { id: claim.claim, token: collections[0].Token, last: 1 }
  await ask('/databases/Shop/hilo/series/checkin', json(series))
  expect(log.error).toHaveBeenLastCalledWith(
    { database: 'Shop', more: 20 },
    expect.stringContaining('MANY DEVICES'),
  )
  const metrics = await handler(new Request('http://ids.test/metrics'))
  expect(await metrics.text()).toContain('hilo_unknown_tokens_total 22')
})

test('the server that numbers come from is not taken for the database', () => {
  const log = newLog()
  failureLog(log)(new UpstreamUnavailable('The upstream does not answer.'))
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { reason: 'The upstream does not answer.' },
    'The server that numbers come from gives none now.',
  )
})

test('a failure that nobody expects has its stack', () => {
  const log = newLog()
  const error = new TypeError('x is not a function')
  failureLog(log)(error)
  expect(log.error).toHaveBeenCalledExactlyOnceWith({ err: error }, 'A request failed.')
})

test('kinds of failures are remembered up to a limit', () => {
  const log = newLog()
  const report = failureLog(log)
  const fail = (from: number, to: number) => {
    for (let i = from; i <= to; i++) report(new Error(String(i)))
    return log.error.mock.calls.length
  }
  expect([fail(1, 100), fail(1, 100), fail(101, 101), fail(1, 100)]).toEqual([100, 100, 101, 201])
})

test('requests of an outage are logged once', async () => {
  const log = newLog()
  const { ask, ledger } = await newHandler({ log })
  const fail = () => Promise.reject(new LedgerUnavailable('gone'))
  Object.assign(ledger, { claim: fail, ping: fail })
  for (let i = 0; i < 50; i++) {
    expect((await ask('/databases/Shop/hilo/next?tag=orders')).status).toBe(503)
    expect((await ask('/healthz')).status).toBe(503)
  }
  expect(log.error).toHaveBeenCalledOnce()
})

test('a failure that nobody expected is logged, and answered without a word of it', () => {
  const log = vi.fn()
  const error = new TypeError('of a row')
  expect(toRefusal(error, log)).toMatchObject({
    status: 500,
    type: 'System.Exception',
    message: 'The server failed, and its log says why. The same request may be sent again.',
  })
  expect(log.mock.calls).toEqual([[error]])
})
