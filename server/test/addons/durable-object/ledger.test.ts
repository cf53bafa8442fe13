/** The ledger in a Durable Object keeps what every ledger promises: run on the real workerd. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import * as errors from '../../../src/ledger/errors.js'
import type { Grant, Ledger } from '../../../src/ledger/ledger.js'
import { ledgerLimits } from '../../../src/ledger/options.js'
import { editing } from '../../ledger-bench.js'
import { describeLedger } from '../../ledger-contract.js'
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

  test('claims and check-ins write and read the rows that docs/cloudflare.md names', async () => {
    const name = randomUUID()
    const args = [ledgerLimits.parse({})]
    const ledger = ledgerAt(name, await call({ name, ledger: 0, method: 'open', args }))
    const rows = () => call({ name, ledger: 0, method: 'rows', args: [] })
    const costOf = async (act: () => Promise<unknown>) => {
      const before = await rows()
      await act()
      const after = await rows()
      return { written: after.written - before.written, read: after.read - before.read }
    }
    const orders = { database: 'shop', collection: 'orders' }
    const claim = (count: number) =>
      ledger.claim(
        Array.from({ length: count }, () => {
          return { ...orders, id: randomUUID(), count: 32, lastMax: 0, serverTag: 'A', at: 1 }
        }),
      )
    const [first] = await claim(1)
    const { token } = (first as { grant: Grant }).grant
    const grants = [{ token, next: 2 }]
    expect({
      one: await costOf(() => claim(1)),
      ten: await costOf(() => claim(10)),
      checkIn: await costOf(() =>
        ledger.checkIn({ database: 'shop', id: randomUUID(), at: 2, grants }),
      ),
    }).toEqual({
      one: { written: 8, read: 19 },
      ten: { written: 62, read: 55 },
      checkIn: { written: 4, read: 20 },
    })
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
