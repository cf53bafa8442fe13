/**
 * A browser app's use of every browser entry, without Node's types and with the libraries of ES2022
 * only.
 */
import { createHilo, type Hilo, HiloError, type HiloStatus } from 'offline-hilo'
import { type Consecutive, consecutive } from 'offline-hilo/consecutive'
import { damm, ean13, idForm, keyedPermutation } from 'offline-hilo/format'
import type { HiloInspector } from 'offline-hilo/inspector'
import { ravenConventions } from 'offline-hilo/raven'
import { useHiloStatus } from 'offline-hilo/react'
import { nextHiSource } from 'offline-hilo/source'
import { hiLoGenerator } from 'offline-hilo/textbook'
import { createHilo as createHiloInWorker, startWorker } from 'offline-hilo/worker'

class Order {
  readonly items: string[] = []
}

const hilo: Hilo = createHilo({ ...ravenConventions, collections: { orders: { reserve: 200 } } })
hilo.addEventListener('low', ({ detail }) => detail.available satisfies number)

export const id: string = await hilo.nextId(Order)
export const status: HiloStatus = hilo.status()
export const exhausted = (error: unknown): boolean => HiloError.isOutOfIds(error)
// @ts-expect-error `access` is for offline-hilo alone, so that no editor proposes it
export type Hidden = Hilo['access']
export const inWorker: Hilo = createHiloInWorker({ url: '/ids' })
export const close: Promise<void> = hilo[Symbol.asyncDispose]()
export const tickets: Hilo = createHilo({
  formatId: idForm({ prefix: 'K7-', checkDigit: damm }).formatId,
})
export const parcels: Hilo = createHilo({
  formatId: ean13({ prefix: '20', permutation: keyedPermutation(new Uint8Array(16)) }).formatId,
})
export const useOrders = (): number | undefined => useHiloStatus(hilo, 'orders')?.available
export const textbook: Promise<number> = hiLoGenerator({ nextHi: async () => 1, maxLo: 100 })()
export const fromTextbook: Hilo = createHilo({
  source: nextHiSource({ key: 'counter', nextHi: async () => 1, maxLo: 100 }),
})
export const receipts: Consecutive = consecutive(hilo, 'receipts', { device: 'Till 3' })
export const receipt: Promise<{ id: string }> = receipts.next({ key: 'sale' })
export const inspect = (inspector: HiloInspector): void => {
  inspector.hilo = hilo
}
export { startWorker }
