/**
 * `offline-hilo/source`: other authorities than a HiLo server, apart so that only the apps that use
 * one carry it.
 */
export type { HiloSource } from '../core/contract.js'
export { type DocumentOptions, documentSource } from './document.js'
export { type NextHiOptions, nextHiSource } from './next-hi.js'
