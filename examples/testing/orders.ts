/** A part of the app that needs ids. */
import { type Hilo, HiloError } from 'offline-hilo'

/** Without an id, the order stays a draft and gets its id later. */
export async function newOrder(ids: Hilo<'orders'>, customer: string) {
  try {
    return { id: await ids.nextId('orders'), customer }
  } catch (error) {
    if (HiloError.isOutOfIds(error)) return { id: undefined, customer }
    throw error
  }
}
