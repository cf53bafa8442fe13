/** The ledger in a Durable Object keeps what every ledger promises: run on the real workerd. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Grant, Ledger } from '../../../src/ledger/ledger.js'
import * as errors from '../../../src/ledger/ledger-errors.js'
import { ledgerLimits } from '../../../src/ledger/option-checks.js'
import { editing } from '../../ledger-bench.js'
import { describeLedger } from '../../ledger-contract.js'
import { OF_SQLITE } from '../../table-changes.js'
import type { LedgerCall } from './ledger-worker.js'
import { startWorkerd, type Workerd } from './workerd.js'
import { hasWorkerd, unlessWorkerd } from './workerd-program.js'

describe.skipIf(!hasWorkerd)(`in workerd${unlessWorkerd}`, () => {
  let workerd: Promise<Workerd> | undefined

  async function call(of: LedgerCall, listeners: ((database: string) => void)[] = []) {
    workerd ??= startWorkerd({ source: './ledger-worker.ts', objects: { HILO: 'LedgerObject' } })
    const response = await fetch((await workerd).url, { method: 'POST', body: JSON.stringify(of) })
    const { result, error, heard } = await response.json()
    for (const database of heard) for (const listener of listeners) listener(database)
    if (error) throw toError(error)
    return result
  }

  describeLedger('Durable Object ledger', async () => {
    const name = randomUUID()
    return {
      async open(limits) {
        const args = [ledgerLimits.parse(limits ?? {})]
        return ledgerAt(name, await call({ name, ledger: 0, method: 'open', args }))
      },
      edit: (...row) => call({ name, ledger: 0, method: 'sql', args: [editing(...row)] }),
      secret: async () => (await call({ name, ledger: 0, method: 'secret', args: [] })).value,
    }
  })

  test.each(OF_SQLITE)('a start on changed tables is refused: %s', async (done, says) => {
    const open = { name: randomUUID(), ledger: 0, method: 'open', args: [ledgerLimits.parse({})] }
    await call(open)
    await call({ ...open, method: 'sql', args: [done] })
    await expect(call(open)).rejects.toThrow(says)
  })

  /** A new ledger, and what its requests cost. */
  async function countedLedger() {
    const name = randomUUID()
    const args = [ledgerLimits.parse({})]
    const ledger = ledgerAt(name, await call({ name, ledger: 0, method: 'open', args }))
    const counts = () => call({ name, ledger: 0, method: 'counts', args: [] })
    const claim = async (count: number) => {
      const orders = { database: 'shop', collection: 'orders', count: 32, lastMax: 0 }
      const outcomes = await ledger.claim(
        Array.from({ length: count }, () => {
          return { ...orders, id: randomUUID(), serverTag: 'A', at: 1 }
        }),
      )
      return outcomes.map((outcome) => (outcome as { grant: Grant }).grant.token)
    }
    return {
      claim,
      checkIn: (token: string) =>
        ledger.checkIn({
          database: 'shop',
          id: randomUUID(),
          at: 2,
          grants: [{ token, next: 2 }],
        }),
      async costOf(act: () => Promise<unknown>) {
        const before = await counts()
        await act()
        const after = await counts()
        return {
          written: after.written - before.written,
          read: after.read - before.read,
          commits: after.commits - before.commits,
        }
      },
    }
  }

  test('claims and check-ins write and read the rows that docs/cloudflare.md names', async () => {
    const { claim, checkIn, costOf } = await countedLedger()
    const [token] = await claim(1)
    expect({
      one: await costOf(() => claim(1)),
      ten: await costOf(() => claim(10)),
      checkIn: await costOf(() => checkIn(token!)),
    }).toEqual({
      one: { written: 8, read: 20, commits: 1 },
      ten: { written: 62, read: 56, commits: 1 },
      checkIn: { written: 4, read: 21, commits: 1 },
    })
  })

  test('400 check-ins of 400 devices are at most 20 commits', async () => {
    const { claim, checkIn, costOf } = await countedLedger()
    const tokens = await claim(400)
    const { commits } = await costOf(() => Promise.all(tokens.map(checkIn)))
    expect(commits).toBeLessThanOrEqual(20)
  })

  function ledgerAt(name: string, ledger: number): Ledger {
    const listeners: ((database: string) => void)[] = []
    return new Proxy({} as Ledger, {
      get(_, method: string) {
        // A promise resolves with it.
        if (method === 'then') return undefined
        if (method === 'onRestored')
          return (listener: (database: string) => void) => listeners.push(listener)
        if (method === 'connections') return () => undefined
        return (...args: unknown[]) => call({ name, ledger, method, args }, listeners)
      },
    })
  }
})

function toError({ name, message }: Error): Error {
  const known = (errors as unknown as Record<string, new (message: string) => Error>)[name]
  return known ? new known(message) : Object.assign(new Error(message), { name })
}
