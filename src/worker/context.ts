/** What the parts of an owner share, and what claims and check-ins share about their collection. */

import type { Failure } from '../core/errors.js'
import type { Background } from '../device/background.js'
import type { StorageKind, Target } from '../device/contract.js'
import type { DeviceState } from '../device/state.js'
import type { Source } from '../source/source.js'
import type { DeviceStore } from '../store/store.js'
import type { Tabs } from './tabs.js'
import type { World } from './world.js'

/** Stopped when the page closes: nothing is sent or planned from then on. */
export interface OwnerContext extends Omit<Background, 'stop'> {
  world: World
  store: Promise<DeviceStore>
  source: Source
  storageKind(): StorageKind
  /** The `order` of the view that is made now. */
  nextView(): number
  isOnline(): boolean
  isWatched(): boolean
  /** By the collection's name: the last check-in that was answered before the page's reload. */
  answers: Readonly<Record<string, string>>
  /** The address of the server, or the key of the app's own source. */
  url: string
  /** The failure, which also says so if this device never got an id from that address. */
  explained(failure: Failure): Promise<Failure>
  /** Undefined where tabs cannot send each other messages. */
  tabs: Tabs | undefined
}

export interface CollectionContext {
  owner: OwnerContext
  target: Target
  /** Of the collection, on this device. */
  name: string
  /** One transaction on the collection's state; `reserve` is the target in force. */
  update<T>(change: (state: DeviceState, reserve: number) => [DeviceState, T]): Promise<T>
  /** The same, for a claim: if it finds or brings enough, pages that wait get their leases, too. */
  updateAndLease<T>(change: (state: DeviceState, reserve: number) => [DeviceState, T]): Promise<T>
  /** One transaction of a check-in: pages that wait for it get their leases, too. */
  checkedIn<T>(change: (state: DeviceState, reserve: number) => [DeviceState, T]): Promise<T>
  /** In how many milliseconds the server should hear of what was leased; undefined: it has. */
  reportIn(): number | undefined
  /** Has it to be asked at this start whether the device is a copy, and was it not yet? */
  asks(state: DeviceState): boolean
  /** Sends the check-in that is stored, now. Resolves when it was answered or has failed. */
  checkIn(): Promise<void>
  /** The server has answered a claim. */
  wasAnswered(): void
  /** The status of the collection has changed. */
  notify(): void
}
