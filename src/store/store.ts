/** `offline-hilo/store`: the port to durable device state, for a storage of your own. Types only. */
export type { Change, DeviceStore, StoreKey } from '../core/device-store.js'
export type { SeriesKey } from '../core/page-exit.js'
export type { DeviceState, Note } from '../core/state.js'
