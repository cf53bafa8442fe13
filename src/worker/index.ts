/**
 * `offline-hilo/worker`: for code that runs in a worker or service worker itself, and for apps that
 * own the worker's file.
 */
import { expose } from 'comlink'
import { Hilo } from '../client/hilo.js'
import * as onlineCalls from '../client/online-calls.js'
import type { HiloOptions, NamesOf } from '../device/hilo-options.js'
import { ownerHere } from './here.js'

/**
 * As `createHilo` of the main entry, for a worker or a service worker: the owner runs in the same
 * realm.
 */
export function createHilo<Name extends string = string>(
  options: Omit<HiloOptions<Name>, 'worker'> = {},
): Hilo<NamesOf<Name>> {
  return new Hilo<NamesOf<Name>>(options as HiloOptions, {
    spawn: undefined,
    ownerHere: async (store) => ownerHere(store),
    onlineCalls: async () => onlineCalls,
  })
}

/**
 * Makes this dedicated worker the owner for the page that passed it as its `worker` option. Call it
 * synchronously, at the file's top.
 */
export function startWorker(): void {
  expose(ownerHere())
}
