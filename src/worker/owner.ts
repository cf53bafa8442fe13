/**
 * The owner of this device's ranges, for one page: the body that a worker runs, or the page itself
 * when no worker starts. It has no globals; everything it touches comes in as its {@link World}, so
 * that a simulation runs the same code.
 */
import { type Failure, fromFailure, HiloError, toFailure } from '../core/errors.js'
import { VERSION } from '../core/version.js'
import type { LedgerNames } from '../core/wire.js'
import { newBackground } from '../device/background.js'
import type { Owner, OwnerCallbacks, OwnerConfig, StorageKind, Target } from '../device/contract.js'
import { nameOf } from '../device/page-notes.js'
import type { DeviceState } from '../device/state.js'
import { isGrant, isKey, readState } from '../device/stored.js'
import { CHECK_ADDRESS } from '../source/answers.js'
import { ASKED_AGAIN, within } from '../source/http.js'
import type { Source } from '../source/source.js'
import type { DeviceStore, StoreKey } from '../store/store.js'
import { type CheckIns, newCheckIns } from './check-ins.js'
import { type ClaimRequests, newClaimRequests } from './claim-requests.js'
import { SWITCHED_OFF } from './claims.js'
import { newCollection, type OwnedCollection } from './collection.js'
import type { OwnerContext } from './context.js'
import { release } from './release.js'
import type { World } from './world.js'

/** A state, and the database that it is of. */
interface StoredState extends DeviceState {
  database: string
}

export function createOwner(world: World): Owner {
  const collections = new Map<string, OwnedCollection>()
  const databases = new Map<string, { checkIns: CheckIns; requests: ClaimRequests }>()
  const background = newBackground(world.after)
  let opened: { config: OwnerConfig; callbacks: OwnerCallbacks; context: OwnerContext } | undefined
  /** Calls that have not ended; true: the page does not wait for it any more. */
  const calls = new Map<string, boolean>()
  let isOnline = true
  let isWatched = false
  let storage: StorageKind = 'opening'

  /** Many collections fail at once, and ask one question. */
  let reading: Promise<StoredState[]> | undefined

  const isCancelled = (call: string) => calls.get(call) || background.signal.aborted

  async function cancellable<T>(call: string, work: () => Promise<T>): Promise<T> {
    calls.set(call, false)
    return work().finally(() => calls.delete(call))
  }

  /** Nobody waits for the browser's answer, which may never come. */
  async function askStorageKind(): Promise<void> {
    const kind = await world.storageKind().catch(() => storage)
    // Meanwhile it may have turned out that the storage does not open.
    if (storage === 'opening' || storage === 'memory' || storage === kind) return
    storage = kind
    for (const each of collections.values()) each.record.notify()
  }

  /** Until now, ids were in memory. */
  function openedLate(): void {
    storage = 'best-effort'
    void askStorageKind()
    for (const each of collections.values()) each.openedLate()
  }

  function open(config: OwnerConfig, callbacks: OwnerCallbacks, firstView = 0): string {
    const store: Promise<DeviceStore> = world.openStore(config.name, openedLate)
    void background.run(
      store.then(({ isDurable }) => {
        // guard: H14 ranges in memory are reported
        storage = isDurable ? 'best-effort' : 'memory'
        if (isDurable) void askStorageKind()
      }),
    )
    const context: OwnerContext = {
      ...background,
      world,
      store,
      nextView: () => firstView++,
      source: config.isAsked
        ? pageSource(callbacks, config.timeout)
        : world.createSource(
            config,
            config.headers === 'ask'
              ? () => headersOf(callbacks)
              : () => config.headers as Record<string, string>,
          ),
      storageKind: () => storage,
      isOnline: () => isOnline,
      isWatched: () => isWatched,
      answers: config.answers ?? {},
      url: config.url,
      explained,
      statesOf,
      ledgersInUse: (database) =>
        merged(
          [...collections.values()].flatMap(({ record: { target, shared } }) =>
            target.database === database ? shared : [],
          ),
        ),
      // Ranges in memory are this tab's alone: other tabs' news are not about them.
      tabs: world.openTabs?.(config.name, config.page, {
        onChange(collection, view) {
          if (storage !== 'memory') collections.get(collection)?.record.onChangeElsewhere(view)
        },
        parkExcess: async (collection) => collections.get(collection)?.parkExcess(),
      }),
    }
    opened = { config, callbacks, context }
    return VERSION
  }

  /**
   * A device that never got an id from its server may have a wrong address: where no HiLo server
   * answers, its failure says so.
   */
  async function explained(failure: Failure): Promise<Failure> {
    const { config, context } = opened!
    const isSilent =
      failure.code === 'server-unreachable' &&
      failure.message.startsWith(config.url) &&
      (failure.status === undefined || failure.noAnswer)
    if (config.isAsked || !isSilent || context.served) return failure
    // guard: H25 a storage that fails says nothing of the server
    const stored = await states().catch(() => undefined)
    if (stored?.some(({ nodes }) => nodes) ?? true) return failure
    const advice = failure.noAnswer
      ? ''
      : ` ${(await world.whyUnreachable?.(config.url)) ?? CHECK_ADDRESS}`
    const never = `No id ever came from there.${advice}`
    const message = failure.message.replace(ASKED_AGAIN, never)
    return { ...failure, code: 'no-hilo-server', noAnswer: true, message }
  }

  /** What this device has stored of its server. */
  function states(): Promise<StoredState[]> {
    reading ??= readStates().finally(() => {
      reading = undefined
    })
    return reading
  }

  async function readStates(): Promise<StoredState[]> {
    const { config, context } = opened!
    const store = await context.store
    const keys = (await keysIn(store)).filter(([url]) => url === config.url)
    const read = await Promise.all(keys.map((key) => store.read(key)))
    return read.flatMap(({ stored }, i) => {
      const found = readState(stored)
      return 'state' in found ? { ...found.state, database: keys[i]![1] } : []
    })
  }

  const statesOf = async (name: string) =>
    (await states()).filter(({ database }) => database === name)

  /** The ledgers that this device holds numbers of. One whose storage fails knows none. */
  async function ledgersOf(database: string): Promise<LedgerNames | undefined> {
    return merged(await statesOf(database).catch(() => []))
  }

  function collection(target: Target): OwnedCollection {
    const { config, callbacks, context } = opened!
    const key: StoreKey = [config.url, target.database, target.collection + target.separator]
    const name = nameOf(key)
    const existing = collections.get(name)
    if (existing) return existing
    const { checkIns, requests } = databaseOf(context, target.database)
    const created = newCollection(context, key, target, callbacks, checkIns, requests)
    collections.set(name, created)
    return created
  }

  function databaseOf(context: OwnerContext, name: string) {
    const known = databases.get(name) ?? {
      checkIns: newCheckIns(context, JSON.stringify([opened!.config.url, name])),
      requests: newClaimRequests(context),
    }
    databases.set(name, known)
    return known
  }

  async function close(): Promise<void> {
    const stopped = background.stop()
    opened?.context.tabs?.close()
    await stopped
    // A storage that never opened needs no end.
    const store = await opened?.context.store.catch(() => undefined)
    // An app's own may answer with a promise.
    await store?.close()
  }

  return {
    open,
    ping() {},
    close,
    exchange: (target, request) => collection(target).exchange(request),
    claim: (target, want, request) => collection(target).claim(want, request),
    reserve: (call, wanted) =>
      cancellable(call, () => {
        const reserved = wanted.map(({ target, count }) =>
          collection(target).reserve(count, () => isCancelled(call)),
        )
        return Promise.all(reserved)
      }),
    release: (targets, request, isClosing) =>
      cancellable(request.id, () =>
        release(targets.map(collection), request, () => isCancelled(request.id), isClosing),
      ),
    startOver: (target) => collection(target).startOver(),
    cancel(call) {
      if (calls.has(call)) calls.set(call, true)
    },
    inspect: (target) => collection(target).inspect(),
    async collections() {
      const { config, context } = opened!
      try {
        await context.store
        await world.untilOpen()
        const keys = await keysIn(await context.store)
        return { collections: keys.filter(([url]) => url === config.url).map(collectionOf) }
      } catch (error) {
        return { failure: toFailure(error, 'storage-failed') }
      }
    },
    watch(watched) {
      isWatched = watched
      for (const each of collections.values()) each.record.refresh()
    },
    async nextIdentity(database, name, key) {
      if (!isOnline) return { failure: SWITCHED_OFF }
      const { source } = opened!.context
      try {
        // guard: H34 another ledger gives no identity
        const ledgers = await ledgersOf(database)
        return { number: await source.nextIdentity!(database, name, key, ledgers) }
      } catch (error) {
        const failure = toFailure(error, 'invalid-response')
        return { failure: failure.ledger ? { ...failure, code: 'other-ledger' } : failure }
      }
    },
    setOnline(online) {
      isOnline = online
      if (online) for (const each of collections.values()) each.retryNow()
    },
    reportNow() {
      for (const { checkIns } of databases.values()) checkIns.reportNow()
    },
    retryNow() {
      void askStorageKind()
      for (const each of collections.values()) each.retryNow()
    },
  }
}

function merged(all: readonly { ledgers?: LedgerNames | undefined }[]): LedgerNames | undefined {
  const known = all.flatMap(({ ledgers }) => (ledgers ? [ledgers] : []))
  return known.length > 0 ? Object.assign({}, ...known) : undefined
}

/** Records of somebody else may be there, too. */
const keysIn = async (store: DeviceStore) => (await store.keys()).filter(isKey)

/** The separator is the last character of the stored prefix. */
const collectionOf = ([, database, prefix]: StoreKey) => ({
  database,
  collection: prefix.slice(0, -1),
  separator: prefix.slice(-1),
})

/** @throws HiloError `invalid-argument`, and any error of the app's function */
async function headersOf(callbacks: OwnerCallbacks): Promise<Record<string, string>> {
  const answer = await callbacks.headers()
  if ('failure' in answer) throw fromFailure(answer.failure)
  return answer.headers
}

/** The app's own source, which lives in the page. */
const pageSource = (callbacks: OwnerCallbacks, timeout: number): Source => ({
  async claim(target, claim) {
    // guard: H25 an app's own source is not waited for without a deadline
    const answer = await within(timeout, 'The `source`', () => callbacks.claim!(target, claim))
    const { grant, failure } = Object(answer)
    if (failure?.code && failure.message) throw fromFailure(failure)
    const prefix = target.collection + target.separator
    // guard: H15 an app's own source grants whole numbers only
    if (isGrant(grant, prefix)) return grant
    throw new HiloError(
      'invalid-response',
      `The \`source\` has to grant whole numbers ≥ 0 with a prefix that begins with '${prefix}', ` +
        'and no token. Nothing was taken.',
    )
  },
})
