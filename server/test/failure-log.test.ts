/** What the log says of failures: enough to act on, and not a line per request. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { failureLog } from '../src/http/failure-log.js'
import { LedgerUnavailable } from '../src/index.js'
import { UpstreamUnavailable } from '../src/ledger/errors.js'
import { newHandler } from './handlers.js'

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
  vi.advanceTimersByTime(10_000)
  fail(1_000)
  const text = 'The database does not answer.'
  expect(log.error.mock.calls).toEqual([
    [{ reason: 'PostgreSQL did not do it: gone.' }, text],
    [{ reason: 'another' }, text],
    [{ reason: 'PostgreSQL did not do it: gone.', more: 999 }, text],
  ])
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
  for (let round = 0; round < 2; round++)
    for (let i = 0; i < 1_000; i++) report(new Error(String(i)))
  expect(log.error).toHaveBeenCalledTimes(2_000)
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
