/** What `offline-hilo/consecutive` takes, and what it answers. */
import { expectTypeOf } from 'vitest'
import {
  type Consecutive,
  type ConsecutiveNumber,
  consecutive,
  type HeldSeries,
  type NumberRange,
  type ReportedRange,
  type SeriesReport,
} from '../../src/addons/consecutive/index.js'
import { createHilo } from '../../src/index.js'

export const typed = () => {
  const hilo = createHilo({ collections: { receipts: {} } })
  const receipts = consecutive(hilo, 'receipts', { device: 'Till 3' })
  expectTypeOf(receipts).toEqualTypeOf<Consecutive>()
  // @ts-expect-error not among the collections of this Hilo
  consecutive(hilo, 'reciepts')
  // @ts-expect-error there is no such option
  consecutive(hilo, 'receipts', { padding: 6 })
  expectTypeOf(receipts.next({ key: 'sale' })).resolves.toEqualTypeOf<ConsecutiveNumber>()
  expectTypeOf(receipts.prepare()).resolves.toEqualTypeOf<HeldSeries>()
  const ranges = [{ from: 1, to: 9, validUntil: '2027-12-31', data: 'SETP' }] as const
  consecutive(hilo, 'receipts', {
    series: 'T3',
    ranges,
    formatId: (n, _, __, data) => `${data}${n}`,
  })
  // @ts-expect-error a range has an end
  consecutive(hilo, 'receipts', { series: 'T3', ranges: [{ from: 1 }] })
  expectTypeOf<SeriesReport['ranges']>().toEqualTypeOf<ReportedRange[] | undefined>()
  expectTypeOf<ReportedRange>().toExtend<NumberRange>()
  hilo.addEventListener('ending', ({ detail }) =>
    expectTypeOf(detail.validUntil).toEqualTypeOf<string | undefined>(),
  )
  // @ts-expect-error no number without a key
  receipts.next({})
  // @ts-expect-error no such state
  receipts.settle('sale', 'lost')
  expectTypeOf(receipts.report()).resolves.toEqualTypeOf<SeriesReport[]>()
}
