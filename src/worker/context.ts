/**
 * What the parts of an owner share: the storage, the authority, and the one way to change a
 * collection's state.
 */
import type { StorageKind } from '../core/contract.js'
import type { DeviceState } from '../core/state.js'
import type { Source } from '../source/source.js'
import type { DeviceStore } from '../store/store.js'
import type { Tabs } from './tabs.js'

export interface OwnerContext {
  store: Promise<DeviceStore>
  source: Source
  storageKind(): StorageKind
  isOnline(): boolean
  isWatched(): boolean
  /** Undefined where tabs cannot hear each other. */
  tabs: Tabs | undefined
}

/** One transaction on a collection's state; `reserve` is the target in force. */
export type Update = <T>(
  change: (state: DeviceState, reserve: number) => [DeviceState, T],
) => Promise<T>
