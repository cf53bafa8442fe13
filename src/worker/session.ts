/** What the parts of an owner share: the storage, the authority, and the one way to change a collection's state. */
import type { Seen, StorageKind } from '../core/contract.js'
import type { DeviceState } from '../core/state.js'
import type { Source } from '../source/source.js'
import type { DeviceStore, StoreKey } from '../store/store.js'
import type { RollCall } from './roll-call.js'

export interface Session {
  store: Promise<DeviceStore>
  source: Source
  storageKind(): StorageKind
  isOnline(): boolean
  /** Tells the other tabs. */
  announce(key: StoreKey, seen: Seen): void
  isWatched(): boolean
  /** Undefined where tabs cannot hear each other. */
  callRoll(page: string): RollCall | undefined
}

/** One transaction on a collection's state; `reserve` is the target in force. */
export type Update = <T>(change: (state: DeviceState, reserve: number) => [DeviceState, T]) => Promise<T>
