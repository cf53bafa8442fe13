/** `offline-hilo/store`: the types to write a store for durable device state of your own. */
export type { Change, DeviceStore, StoreKey } from '../device/device-store.js'
export type {
  ChainFlag,
  ChainRecord,
  Entry,
  Link,
  LinkMark,
  NumberRow,
  SeriesStore,
  SeriesTransaction,
} from '../device/series-store.js'
export type { Declared, DeviceState, Note, Stop } from '../device/state.js'
