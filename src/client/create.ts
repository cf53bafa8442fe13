/** `createHilo` for pages: the owner runs in a worker of its own. */
import type { HiloOptions, NamesOf } from '../device/hilo-options.js'
import { Hilo } from './hilo.js'

/**
 * Starts handing out ids. Returns at once; the worker starts in the background.
 *
 * @example
 * const hilo = createHilo({ database: 'Shop', collections: { orders: { reserve: 200 } } })
 * const id = await hilo.nextId('orders') // 'orders/33-A', also offline
 *
 * @throws HiloError `invalid-argument` when an option is wrong
 */
export function createHilo<Name extends string = string>(
  options: HiloOptions<Name> = {},
): Hilo<NamesOf<Name>> {
  return new Hilo<NamesOf<Name>>(options as HiloOptions, {
    // Without a storage that pages share, a worker is of no use: in Deno and Bun it would only keep
    // the process alive.
    spawn:
      'indexedDB' in globalThis
        ? // Bundlers look for exactly this expression to find the worker's file.
          () => new Worker(new URL('../worker/entry.js', import.meta.url), { type: 'module' })
        : undefined,
    ownerHere: async (store) => (await import('../worker/here.js')).ownerHere(store),
    onlineCalls: () => import('./online-calls.js'),
  })
}
