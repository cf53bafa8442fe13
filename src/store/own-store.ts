/**
 * A store of the app's own, which may be wrong: what it answers is checked, and each change is read
 * back. Guarantees that no number is claimed or issued by a change that the store did not keep.
 */
import { HiloError } from '../core/errors.js'
import { whenLate } from '../core/when-late.js'
import { readState } from '../device/stored.js'
import type { Change, DeviceStore, StoreKey } from './store.js'

/** An app's store that takes longer hangs. `close()` waits for it, too. */
const DEADLINE_MS = 10_000

export function ownStore(store: DeviceStore): DeviceStore {
  /** By key: the change before. */
  const turns = new Map<string, Promise<unknown>>()
  /** The last failure because of the deadline. */
  let hung: HiloError | undefined

  /** @param method of the app's store */
  function inTime<T>(method: string, work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = whenLate(DEADLINE_MS, () => {
        hung = wrong(`\`${method}\` has not settled within ${DEADLINE_MS} ms`)
        reject(hung)
      })
      Promise.resolve().then(work).then(resolve, reject).finally(cancel)
    })
  }

  const read: DeviceStore['read'] = async (key) => {
    const found = await inTime('read', () => store.read(key))
    if (Array.isArray(found?.notes)) return found
    throw wrong('`read` has to resolve with `{ stored, notes }`')
  }

  /** @param before as text: what the change was handed */
  async function requireKept(key: StoreKey, before: string | undefined): Promise<void> {
    const { stored } = await read(key)
    if (JSON.stringify(stored) === before)
      throw wrong('`read` found nothing of what `update` was to store')
    const state = readState(stored)
    if ('refused' in state) throw wrong(`\`read\` found no state: ${state.refused}`)
  }

  async function keep<T>(key: StoreKey, change: Parameters<typeof store.update<T>>[1]): Promise<T> {
    let made: Change<T> | undefined
    let handed: unknown
    let isOver = false
    const update: typeof change = (stored, notes) => {
      // guard: H18 a change of an app's store that comes too late is not made
      if (isOver) throw wrong('`update` has called the change after it was over')
      if (!Array.isArray(notes))
        throw wrong('`update` has to hand the change what is stored, and an array of notes')
      handed = stored
      made = change(stored, notes)
      return made
    }
    const result = await inTime('update', () => store.update<T>(key, update)).finally(() => {
      isOver = true
    })
    if (!made || made.result !== result)
      throw wrong('`update` has to call the change, and to resolve with its `result`')
    // guard: H38 a change that the app's own store did not keep counts for nothing
    if (made.state !== handed) await requireKept(key, JSON.stringify(handed))
    return result
  }

  return {
    get isDurable() {
      return store.isDurable
    },
    // Two changes at once may end where the first began, and then nothing would tell that one from
    // a change that was not kept.
    update(key, change) {
      const before = turns.get(`${key}`) ?? Promise.resolve()
      const late = hung
      const done = before.then(() => {
        // guard: H18 who waits behind a change of an app's store that hangs fails with it
        if (hung !== late) throw hung
        return keep(key, change)
      })
      const settled = done.catch(() => {})
      turns.set(`${key}`, settled)
      return done
    },
    read,
    async keys() {
      const keys = await inTime('keys', () => store.keys())
      if (Array.isArray(keys)) return keys
      throw wrong('`keys` has to resolve with an array')
    },
    close: () => inTime('close', () => store.close()),
  }
}

const wrong = (rule: string): HiloError =>
  new HiloError(
    'storage-failed',
    `The \`store\` of the app is wrong: ${rule}. No id was handed out. Try it with ` +
      '`storeChecks` of offline-hilo/store/testing.',
  )
