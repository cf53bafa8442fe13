/**
 * `offline-hilo/source`: ranges from elsewhere than a HiLo server. It is an entry of its own, so
 * that only apps that use it carry it.
 */
export type { HiloSource } from '../device/contract.js'
export { type DocumentOptions, documentSource } from './document.js'
export { type NextHiOptions, nextHiSource } from './next-hi.js'
