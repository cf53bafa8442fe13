/**
 * Blocks of numbers from an etcd cluster, as the source of a region's device. Each block is one
 * `put` of one key. etcd counts the writes of a key, and that count is the block's place: the third
 * `put` takes the third block. What is put is read in the same transaction, so each answer names
 * its request. So no block is skipped, and no region waits for another. Guarantees
 * that a block is granted once: an epoch that has ended, a changed block size, and an etcd that
 * went back grant nothing.
 *
 * Each collection has two keys. `setup` says how blocks become numbers, and the transaction that
 * takes a block compares it; `blocks/N` counts the blocks of epoch N. A database has one, if its
 * floors were raised: `above`, for collections that are not there yet.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { HiloError } from '../../../../src/core/errors.js'
import type { Target } from '../../../../src/device/contract.js'
import type { DeviceClaim, GrantedRange } from '../../../../src/device/state.js'
import type { Source } from '../../../../src/source/source.js'
import type { CollectionKey } from '../../ledger/ledger.js'
import { CounterUnusable, LedgerUnavailable } from '../../ledger/ledger-errors.js'
import { MAX_NUMBER } from '../../ledger/number-line.js'
import { parsed } from '../upstream/request.js'
import { type EtcdClient, openEtcd } from './etcd.js'
import type { Etcd } from './region-options.js'

const setup = z.strictObject({
  /** Numbers per block. */
  block: z.int().min(1),
  /** Goes up whenever the floor is raised, so that earlier blocks are never counted again. */
  epoch: z.int().min(1),
  /** The first block of the epoch begins above. */
  above: z.int().min(0),
  /** The cluster that began the epoch. */
  cluster: z.string(),
  /** Why nothing is granted until the floor is raised. */
  stopped: z.string().optional(),
})
type Setup = z.infer<typeof setup>

interface Known {
  text: string
  value: Setup
  /** The newest revision of etcd that was seen under this setup. */
  newest: number
}

export interface EtcdSource extends Source {
  /**
   * Begins an epoch whose blocks are above `floor`, and `by` numbers above all that were taken.
   * @throws LedgerUnavailable, CounterUnusable
   */
  raiseFloor(key: CollectionKey, floor: number, by: number): Promise<void>
  /**
   * From now on, collections that are not there yet begin `by` numbers higher.
   * @returns those that are there
   * @throws LedgerUnavailable, CounterUnusable
   */
  beginAbove(database: string, by: number): Promise<CollectionKey[]>
}

/** @throws Error when a file of the certificate cannot be read */
export function etcdSource(options: Etcd): EtcdSource {
  const { prefix, block, tag } = options
  const etcd = openEtcd(options)
  const keys = keysUnder(prefix)
  const setups = setupsIn(etcd, keys, block)

  /** Nobody takes a block any more until the floor is raised. */
  async function stop(key: CollectionKey, { text, value }: Known, why: string): Promise<never> {
    const stopped = JSON.stringify({ ...value, stopped: why } satisfies Setup)
    // If another region has changed it meanwhile, its value stands.
    await etcd.commit({ [keys.setup(key)]: text }, [{ put: keys.setup(key), value: stopped }], [])
    throw backwards(key, why)
  }

  async function takeBlock(key: CollectionKey, lastMax: number): Promise<[number, number]> {
    for (let isOutdated = false; ; isOutdated = true) {
      let current = isOutdated ? undefined : setups.known(key)
      // The floor may have been raised since.
      if (!current || current.value.stopped !== undefined || current.value.block !== block)
        current = await setups.read(key)
      const { value, text, newest } = current
      if (value.stopped !== undefined) throw backwards(key, value.stopped)
      if (value.block !== block)
        throw new CounterUnusable(
          `etcd counts '${key.collection}' in blocks of ${value.block}, this server is ` +
            `configured for ${block}. Set upstream.block to ${value.block}; to change it, raise ` +
            'the floor with the new size set everywhere.',
        )
      const blocks = keys.blocks(key, value.epoch)
      const mark = randomUUID()
      const { isDone, entries, cluster, revision } = await etcd.commit(
        { [keys.setup(key)]: text },
        [{ put: blocks, value: mark }, { get: blocks }],
        [],
      )
      if (!isDone) continue
      // guard: H11 what etcd answers another region takes no block
      if (entries[1]?.value !== mark)
        throw new LedgerUnavailable(
          'etcd gave the answer to another request: something in front of it answers in its place.',
        )
      if (cluster !== value.cluster) return stop(key, current, 'to another cluster')
      const taken = entries[0]
      if (!taken) return stop(key, current, 'and a key is gone')
      const low = value.above + (taken.version - 1) * block + 1
      const high = low + block - 1
      // guard: H20 an etcd that was restored grants nothing
      if (revision <= newest || low <= lastMax)
        return stop(key, current, `and would grant ${low} to ${high}`)
      current.newest = Math.max(current.newest, revision)
      if (high > MAX_NUMBER)
        throw new CounterUnusable(`The numbers of '${key.collection}' are used up: 2^53-1.`)
      return [low, high]
    }
  }

  return {
    async claim(target: Target, { lastMax }: DeviceClaim): Promise<GrantedRange> {
      try {
        const [from, to] = await takeBlock(target, lastMax)
        return { range: { from, to, prefix: target.collection + target.separator, serverTag: tag } }
      } catch (error) {
        if (error instanceof LedgerUnavailable)
          throw new HiloError('server-unreachable', error.message, { cause: error })
        if (error instanceof CounterUnusable)
          throw new HiloError('invalid-response', error.message, { cause: error })
        throw error
      }
    },

    async nextIdentity() {
      throw new HiloError(
        'invalid-argument',
        'etcd counts no identities: only a HiLo server does, as the root of a region.',
      )
    },

    ...floorsIn(etcd, keys, setups, block),
  }
}

type Keys = ReturnType<typeof keysUnder>

/** The keys in etcd, and their values. */
function keysUnder(prefix: string) {
  const database = (name: string) => `${prefix}/${encodeURIComponent(name)}/`
  const collection = (key: CollectionKey) =>
    database(key.database) + encodeURIComponent(key.collection)
  return {
    database,
    collection,
    above: (name: string) => `${database(name)}above`,
    setup: (key: CollectionKey) => `${collection(key)}/setup`,
    blocks: (key: CollectionKey, epoch: number) => `${collection(key)}/blocks/${epoch}`,
  }
}

interface Setups {
  /** As it was read last. */
  known(key: CollectionKey): Known | undefined
  /** How the collection's blocks become numbers. The first region writes it as configured. */
  read(key: CollectionKey): Promise<Known>
}

/** @param block as configured here */
function setupsIn(etcd: EtcdClient, keys: Keys, block: number): Setups {
  const known = new Map<string, Known>()

  function remember(key: CollectionKey, text: string): Known {
    const { data } = setup.safeParse(parsed(text))
    if (!data)
      throw new CounterUnusable(
        `etcd holds something else under ${keys.setup(key)}: ${text.slice(0, 100)}. Give this ` +
          'server a `prefix` of its own.',
      )
    const before = known.get(keys.collection(key))
    const read = { text, value: data, newest: before?.text === text ? before.newest : 0 }
    known.set(keys.collection(key), read)
    return read
  }

  async function readSetup(key: CollectionKey): Promise<Known> {
    const aboveAll = keys.above(key.database)
    const look = [{ get: keys.setup(key) }, { get: aboveAll }]
    const { entries: found, cluster } = await etcd.commit({}, look, [])
    if (found[0]) return remember(key, found[0].value)
    const floor = found[1]?.value
    // guard: H20 a collection that a restored etcd does not know begins above the floor
    const first: Setup = { block, epoch: 1, above: Number(floor ?? 0), cluster }
    const text = JSON.stringify(first)
    const { isDone, entries } = await etcd.commit(
      { [keys.setup(key)]: undefined, [keys.blocks(key, 1)]: undefined, [aboveAll]: floor },
      [
        { put: keys.setup(key), value: text },
        { put: keys.blocks(key, 1), value: 'begun' },
      ],
      look,
    )
    if (!isDone && !entries[0] && entries[1]?.value !== floor) return readSetup(key)
    if (!isDone && !entries[0])
      throw new CounterUnusable(
        `etcd counts blocks of ${keys.collection(key)}, but how large they are is gone: ` +
          `${keys.setup(key)} was deleted. Put it back from a backup.`,
      )
    return remember(key, isDone ? text : entries[0]!.value)
  }

  return { known: (key) => known.get(keys.collection(key)), read: readSetup }
}

/** The operator's steps after etcd went back, or to change the size of the blocks. */
function floorsIn(
  etcd: EtcdClient,
  keys: Keys,
  setups: Setups,
  block: number,
): Pick<EtcdSource, 'raiseFloor' | 'beginAbove'> {
  return {
    async raiseFloor(key, floor, by) {
      for (;;) {
        const { text, value } = await setups.read(key)
        const look = [{ get: keys.blocks(key, value.epoch) }]
        const { entries, cluster } = await etcd.commit({}, look, [])
        const taken = Math.max(0, (entries[0]?.version ?? 0) - 1)
        // guard: H20 all floors are raised from where etcd is, not from where one region is
        const above = Math.max(floor, higher(value.above + taken * value.block, by))
        const epoch = value.epoch + 1
        const next: Setup = { block, epoch, above, cluster }
        const { isDone } = await etcd.commit(
          { [keys.setup(key)]: text, [keys.blocks(key, epoch)]: undefined },
          [
            { put: keys.setup(key), value: JSON.stringify(next) },
            { put: keys.blocks(key, epoch), value: 'begun' },
          ],
          [{ get: keys.setup(key) }],
        )
        if (isDone) return
      }
    },

    async beginAbove(database, by) {
      const floor = keys.above(database)
      for (;;) {
        const { entries } = await etcd.commit({}, [{ get: floor }], [])
        const before = entries[0]?.value
        const { isDone } = await etcd.commit(
          { [floor]: before },
          [{ put: floor, value: String(higher(Number(before ?? 0), by)) }],
          [],
        )
        if (isDone) break
      }
      const { entries } = await etcd.commit({}, [{ below: keys.database(database) }], [])
      return entries.flatMap((entry) => {
        const [, collection] = /([^/]*)\/setup$/.exec(entry!.key) ?? []
        return collection ? { database, collection: decodeURIComponent(collection) } : []
      })
    },
  }
}

/** At the end of the numbers, blocks are refused. */
const higher = (number: number, by: number): number => Math.min(number + by, MAX_NUMBER)

const backwards = ({ database, collection }: CollectionKey, why: string): CounterUnusable =>
  new CounterUnusable(
    `etcd went back, ${why}: it was restored from a backup, or written to by hand. Nothing of ` +
      `'${collection}' is granted until its floor is above all that was granted: ` +
      `npx offline-hilo-server raise-floor ${database} ${collection} <number>.`,
  )
