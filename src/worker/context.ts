/** The parts of an owner have this in common. */
import type { Failure } from '../core/errors.js'
import type { LedgerNames } from '../core/wire.js'
import type { Background } from '../device/background.js'
import type { StorageKind } from '../device/contract.js'
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
  /** The nodes that granted here, also when no record tells of them any more. */
  served?: readonly string[] | undefined
  /** The failure, which also says so if this device never got an id from that address. */
  explained(failure: Failure): Promise<Failure>
  /** What this device has stored of one database of its server. */
  statesOf(database: string): Promise<DeviceState[]>
  /** The ledgers of the collections of a database that this page uses. */
  ledgersInUse(database: string): LedgerNames | undefined
  /** Undefined where tabs cannot send each other messages. */
  tabs: Tabs | undefined
}
