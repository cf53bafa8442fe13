/**
 * The owner of this device's ranges, for one page: the body that a worker runs, or the page itself
 * when no worker starts. It has no globals; everything it touches comes in as its {@link World}, so
 * that a simulation runs the same code.
 */
import type { Owner, OwnerCallbacks, OwnerConfig, StorageKind, Target } from '../core/contract.js'
import { type Failure, fromFailure, HiloError, toFailure } from '../core/errors.js'
import type { Source } from '../source/source.js'
import type { DeviceStore, StoreKey } from '../store/store.js'
import { SWITCHED_OFF } from './claims.js'
import { OwnedCollection } from './collection.js'
import type { OwnerContext } from './context.js'
import type { World } from './world.js'

export function createOwner(world: World): Owner {
  const collections = new Map<string, OwnedCollection>()
  let opened: { config: OwnerConfig; callbacks: OwnerCallbacks; context: OwnerContext } | undefined
  let isOnline = true
  let isWatched = false
  let storage: StorageKind = 'best-effort'

  async function askStorageKind(): Promise<void> {
    storage = await world.storageKind().catch(() => storage)
  }

  function open(config: OwnerConfig, callbacks: OwnerCallbacks): void {
    const store: Promise<DeviceStore> = world.openStore(config.name)
    store.then(
      ({ isDurable }) => {
        if (isDurable) askStorageKind()
        else storage = 'memory'
      },
      () => {},
    )
    const context: OwnerContext = {
      store,
      source: config.isAsked
        ? pageSource(callbacks)
        : world.createSource(
            config,
            config.headers === 'ask'
              ? () => callbacks.headers()
              : () => config.headers as Record<string, string>,
          ),
      storageKind: () => storage,
      isOnline: () => isOnline,
      isWatched: () => isWatched,
      // Ranges in memory are this tab's alone: there is nothing to tell, and what others hold is
      // not here.
      tabs: world.openTabs?.(config.name, config.page, {
        onChange(collection, view) {
          if (storage !== 'memory') collections.get(collection)?.onChangeElsewhere(view)
        },
        parkExcess: async (collection) => collections.get(collection)?.parkExcess(),
      }),
    }
    opened = { config, callbacks, context }
  }

  function collection(target: Target): OwnedCollection {
    if (!opened)
      throw new HiloError(
        'storage-failed',
        'The worker was asked before it was opened. This is a bug in offline-hilo.',
      )
    const { config, callbacks, context } = opened
    const key: StoreKey = [config.url, target.database, target.collection + target.separator]
    const name = JSON.stringify(key)
    const existing = collections.get(name)
    if (existing) return existing
    const created = new OwnedCollection(world, context, key, name, target, callbacks)
    collections.set(name, created)
    return created
  }

  return {
    open,
    close() {
      for (const each of collections.values()) each.close()
      opened?.context.tabs?.close()
      opened?.context.store.then(
        (store) => store.close(),
        () => {},
      )
    },
    exchange: (target, request) => collection(target).exchange(request),
    claim: (target, want) => collection(target).claim(want),
    reserve: (target, request) => collection(target).reserve(request),
    release: (target, request) => collection(target).release(request),
    inspect: (target) => collection(target).inspect(),
    watch(watched) {
      isWatched = watched
      for (const each of collections.values()) each.refresh()
    },
    async nextIdentity(database, name, key) {
      if (!isOnline) return { failure: SWITCHED_OFF }
      const { source } = opened!.context
      try {
        return source.nextIdentity
          ? { number: await source.nextIdentity(database, name, key) }
          : { failure: NO_IDENTITIES }
      } catch (error) {
        return { failure: toFailure(error, 'invalid-response') }
      }
    },
    setOnline(online) {
      isOnline = online
      if (online) for (const each of collections.values()) each.retryNow()
    },
    async retryNow() {
      if (storage !== 'memory') await askStorageKind()
      for (const each of collections.values()) each.retryNow()
    },
  }
}

const NO_IDENTITIES: Failure = {
  code: 'invalid-argument',
  message: 'Identities come from a HiLo server; `source` is none.',
}

/** The app's own source, which lives in the page. */
const pageSource = (callbacks: OwnerCallbacks): Source => ({
  async claim(target, claim) {
    const answer = await callbacks.claim!(target, claim)
    if ('failure' in answer) throw fromFailure(answer.failure)
    return answer.grant
  },
})
