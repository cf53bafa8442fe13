/**
 * The storage bucket of this package, where the engine has buckets: there, an app that writes in
 * bulk into its own databases hardly keeps an id waiting. Nothing asks the browser to keep it.
 */

/** As far as it is used; TypeScript does not know it yet. */
export interface Bucket {
  readonly indexedDB: IDBFactory
  persist(): Promise<boolean>
  persisted(): Promise<boolean>
}

interface Buckets {
  open(name: string, options?: { durability: 'strict' }): Promise<Bucket>
  keys(): Promise<string[]>
}

/** One for all databases of this package on a site. */
export const BUCKET = 'offline-hilo'

/** Undefined: the engine has no buckets, or the page's address is no safe one. */
export const buckets = (): Buckets | undefined =>
  (globalThis.navigator as { storageBuckets?: Buckets } | undefined)?.storageBuckets

/** Makes it where it is not there. */
export const openBucket = (): Promise<Bucket> | undefined =>
  buckets()?.open(BUCKET, { durability: 'strict' })
