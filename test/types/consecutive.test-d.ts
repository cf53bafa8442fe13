/** What `offline-hilo/consecutive` takes, and what it answers. */

import { expectTypeOf } from 'vitest'
import {
  type Consecutive,
  type ConsecutiveNumber,
  consecutive,
  type HeldSeries,
  type SeriesReport,
} from '../../src/consecutive/index.js'
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
  expectTypeOf(receipts.current()).resolves.toEqualTypeOf<HeldSeries | undefined>()
  // @ts-expect-error no number without a key
  receipts.next({})
  // @ts-expect-error a cancelled receipt has a reason
  receipts.cancel('sale')
  expectTypeOf(receipts.report()).resolves.toEqualTypeOf<SeriesReport[]>()
}
