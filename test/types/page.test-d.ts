/**
 * The public types of `offline-hilo`, as an app sees them. Compiled by `npm run types`; a wrong
 * type is an error there.
 */
import { expectTypeOf } from 'vitest'
import {
  findCollectionName,
  ravenConventions,
  transformCollectionName,
} from '../../src/addons/raven.js'
import {
  type Activity,
  type ActivityKind,
  type Batch,
  type CallOptions,
  type CollectionRef,
  type CollectionStatus,
  createHilo,
  type EntityClass,
  type Gaps,
  type Hilo,
  HiloError,
  type HiloErrorCode,
  type HiloEvents,
  type HiloOptions,
  type HiloStatus,
  type IdOptions,
  type IdParts,
  type InspectedSegment,
  type Inspection,
  type Numbers,
  type StorageKind,
} from '../../src/index.js'

class Order {
  readonly items: string[]
  constructor(items: string[]) {
    this.items = items
  }
}
abstract class Document {}

expectTypeOf(createHilo).parameter(0).toEqualTypeOf<HiloOptions | undefined>()
expectTypeOf(createHilo).returns.toEqualTypeOf<Hilo>()

declare const hilo: Hilo

export async function everyCall(): Promise<void> {
  expectTypeOf(await hilo.nextId('orders')).toEqualTypeOf<string>()
  expectTypeOf(await hilo.nextNumber(Order)).toEqualTypeOf<number>()
  expectTypeOf(hilo.nextIdSync(new Order([]))).toEqualTypeOf<string>()
  expectTypeOf(hilo.nextNumberSync(Document)).toEqualTypeOf<number>()
  expectTypeOf(await hilo.nextIds('orders', 5)).toEqualTypeOf<string[]>()
  expectTypeOf(await hilo.warm('orders', 5)).toEqualTypeOf<void>()
  using batch = await hilo.take('orders', 5, { timeout: 5 })
  expectTypeOf(batch).toEqualTypeOf<Batch>()
  expectTypeOf(batch.next()).toEqualTypeOf<string>()
  expectTypeOf(batch.nextNumber()).toEqualTypeOf<number>()
  expectTypeOf(batch.left).toEqualTypeOf<number>()
  expectTypeOf(await hilo.reserve('orders', 5)).toEqualTypeOf<void>()
  expectTypeOf(await hilo.inspect(Order, { database: 'Shop' })).toEqualTypeOf<Inspection>()
  expectTypeOf(await hilo.persist()).toEqualTypeOf<boolean>()
  expectTypeOf(await hilo.release()).toEqualTypeOf<void>()
  expectTypeOf(await hilo.release('orders', { database: 'Shop' })).toEqualTypeOf<void>()
  expectTypeOf(await hilo.close()).toEqualTypeOf<void>()
  expectTypeOf(hilo.ready).toEqualTypeOf<Promise<void>>()

  await hilo.nextId('orders', {
    database: 'Shop',
    timeout: Number.POSITIVE_INFINITY,
    signal: AbortSignal.timeout(5),
  })
  // @ts-expect-error a misspelt option
  await hilo.nextId('orders', { timeOut: 5 })
  // @ts-expect-error a synchronous call waits for nothing
  hilo.nextIdSync('orders', { timeout: 5 })
  // @ts-expect-error a collection is a name, a class or an entity
  await hilo.nextId(7)
  // @ts-expect-error an `await` is missing
  await hilo.nextId(Promise.resolve('orders'))
  // @ts-expect-error an array is no entity
  await hilo.nextId(['orders', 'lines'])
  // @ts-expect-error nor is one that cannot be changed
  hilo.nextIdSync(['orders'] as const)
  // @ts-expect-error how many?
  await hilo.nextIds('orders')
}

/** A part of the app that stores any entity. */
export class Entities<Entity extends Document> {
  async add(entity: Entity): Promise<string> {
    await hilo.nextId(entity as object)
    return hilo.nextId(entity)
  }
}
export const idFor = <Entity extends object>(entity: Entity) => hilo.nextId(entity)
export const idOf = (entity: { id?: string; lines: Iterable<string> }) => hilo.nextId(entity)

expectTypeOf(hilo.status()).toEqualTypeOf<HiloStatus>()
expectTypeOf(hilo.status('orders')).toEqualTypeOf<CollectionStatus>()
expectTypeOf<HiloStatus['storage']>().toEqualTypeOf<StorageKind>()
expectTypeOf<StorageKind>().toEqualTypeOf<'opening' | 'persistent' | 'best-effort' | 'memory'>()
expectTypeOf<HiloStatus['collections']>().toEqualTypeOf<Record<string, CollectionStatus>>()
expectTypeOf<HiloStatus['gaps']>().toEqualTypeOf<Gaps>()
expectTypeOf<CollectionStatus['state']>().toEqualTypeOf<
  'ready' | 'low' | 'claiming' | 'exhausted'
>()
expectTypeOf<CollectionStatus>().toHaveProperty('available').toEqualTypeOf<number>()
expectTypeOf<Required<CollectionStatus>['lastError']>().toEqualTypeOf<HiloError>()

expectTypeOf<Inspection['segments']>().toEqualTypeOf<InspectedSegment[]>()
expectTypeOf<Inspection['gaps']>().toEqualTypeOf<Gaps>()
expectTypeOf<InspectedSegment['kind']>().toEqualTypeOf<
  'granted' | 'leased' | 'issued' | 'offered' | 'given-back'
>()
expectTypeOf<InspectedSegment>().toExtend<Numbers>()
expectTypeOf(hilo.watch).returns.toEqualTypeOf<() => void>()
hilo.watch((activity) => expectTypeOf(activity).toEqualTypeOf<Activity>())
expectTypeOf<Activity['kind']>().toEqualTypeOf<ActivityKind>()
expectTypeOf<Activity['numbers']>().toEqualTypeOf<Numbers[]>()
// @ts-expect-error who listens?
hilo.watch()

export function everyEvent(): void {
  hilo.addEventListener('status', ({ detail }) => expectTypeOf(detail).toEqualTypeOf<HiloStatus>())
  hilo.addEventListener('low', ({ detail }) =>
    expectTypeOf(detail).toEqualTypeOf<{ collection: string; available: number }>(),
  )
  hilo.addEventListener('exhausted', ({ detail }) =>
    expectTypeOf(detail.error).toEqualTypeOf<HiloError>(),
  )
  hilo.addEventListener('fork', ({ detail }) =>
    expectTypeOf(detail.collection).toEqualTypeOf<string>(),
  )
  hilo.addEventListener(
    'error',
    ({ detail }) => expectTypeOf(detail.error).toEqualTypeOf<HiloError>(),
    { once: true },
  )
  // @ts-expect-error there is no such event
  hilo.addEventListener('empty', () => {})
}
expectTypeOf<keyof HiloEvents>().toEqualTypeOf<
  'status' | 'low' | 'exhausted' | 'fork' | 'drop' | 'ledger' | 'ending' | 'degraded' | 'error'
>()
expectTypeOf(hilo).toExtend<EventTarget>()
expectTypeOf(hilo).toExtend<AsyncDisposable>()

export const wrong = () => [
  // @ts-expect-error a misspelt option
  createHilo({ colections: {} }),
  // @ts-expect-error a count
  createHilo({ reserve: '32' }),
  // @ts-expect-error what a collection can be told
  createHilo({ collections: { orders: { size: 5 } } }),
]
expectTypeOf<HiloOptions['formatId']>().toEqualTypeOf<
  ((number: number, parts: IdParts) => string) | undefined
>()
expectTypeOf<HiloOptions['worker']>().toEqualTypeOf<(() => Worker) | undefined>()
expectTypeOf<IdOptions>().toExtend<CallOptions>()
expectTypeOf<IdParts>().toEqualTypeOf<{ collection: string; prefix: string; serverTag: string }>()
expectTypeOf<'orders'>().toExtend<CollectionRef>()
expectTypeOf(Order).toExtend<EntityClass>()
expectTypeOf(Document).toExtend<EntityClass>()

const error = new HiloError('exhausted', 'Nothing left.')
expectTypeOf(error).toExtend<Error>()
expectTypeOf(error.code).toEqualTypeOf<HiloErrorCode>()
expectTypeOf(error.status).toEqualTypeOf<number | undefined>()
const caught: unknown = error
if (HiloError.isOutOfIds(caught)) expectTypeOf(caught).toEqualTypeOf<HiloError>()
expectTypeOf(HiloError.forUser(caught)).toEqualTypeOf<string>()
expectTypeOf(error.retryAfter).toEqualTypeOf<number | undefined>()

expectTypeOf(findCollectionName).toEqualTypeOf<(entityClass: EntityClass) => string>()
expectTypeOf(transformCollectionName).toEqualTypeOf<(collectionName: string) => string>()
expectTypeOf(ravenConventions).toExtend<HiloOptions>()
