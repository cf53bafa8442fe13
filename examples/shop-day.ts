/** A till's day: it opens, sells, corrects a receipt, closes the day, and exports its register. */
import { createHilo } from 'offline-hilo'
import { type Closing, consecutive } from 'offline-hilo/consecutive'

const receipts = consecutive(createHilo(), 'receipts', {
  device: 'Till 3',
  period: 'day',
  timeZone: 'America/Sao_Paulo',
})

/** In the place of the app's own database. */
const stored = (id: string) => localStorage.getItem(id) !== null
const store = (id: string, receipt: object) => localStorage.setItem(id, JSON.stringify(receipt))

/** Each sale that a crash has cut off gets its state before the first customer comes. */
export async function open(by: string): Promise<string[]> {
  await receipts.prepare()
  const left = await receipts.unfinished()
  for (const { id, key } of left)
    if (stored(id)) await receipts.settle(key, 'confirmed', { by })
    else
      await receipts.settle(key, 'cancelled', { by, reason: 'the till stopped before it printed' })
  return left.map(({ id }) => id)
}

export async function sell(sale: string, total: string, by: string) {
  const { id, period } = await receipts.next({ key: sale, by, content: { total } })
  store(id, { sale, total })
  await receipts.settle(sale, 'confirmed', { by })
  return { id, day: period! }
}

/** The wrong receipt stays, and says which one corrects it. */
export async function correct(sale: string, total: string, by: string): Promise<string> {
  const { id } = await sell(`${sale}, corrected`, total, by)
  await receipts.settle(sale, 'voided', { by, reason: 'wrong total', ref: id })
  return id
}

/** @returns the slip of the day: its last link shows whether the end was cut off later */
export async function close(day: string, sums: object, by: string) {
  const closing = (await receipts.closePeriod(day, { sums, by })) as Closing
  const { chains, broken } = await receipts.verify()
  return { closing, last: chains[0]!.last!, broken }
}

/** For the auditor, who needs nothing of this package to read it. */
export async function exported(): Promise<string> {
  let text = ''
  for await (const line of receipts.export({ head: { issuer: 'Corner Shop' } })) text += line
  return text
}
