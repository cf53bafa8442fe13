/**
 * The home of a database: this package's storage bucket, or the site's default storage. Guarantees
 * that no database gets a second home while the first can have its records: a second one would be a
 * second device, and what the first has stored would never be used.
 */
import { BUCKET, type Bucket, buckets, openBucket } from '../device/bucket.js'

/**
 * A database stays where it is, and a new one is made in the bucket. The bucket is looked at first:
 * the default storage does not answer while the app writes in bulk.
 * @returns undefined: the default storage
 * @throws what the browser says, while nobody knows in which of them the database is
 */
export async function bucketOf(name: string): Promise<Bucket | undefined> {
  try {
    const bucket = await openBucket()
    if (!bucket || (await has(bucket.indexedDB, name))) return bucket
    // guard: H35 what an older browser or version has stored in the default storage stays in use
    return (await has(indexedDB, name)) ? undefined : bucket
  } catch (error) {
    const names = await buckets()!
      .keys()
      .catch((): string[] => [])
    // guard: H35 a bucket that fails once is no reason for a second home
    if (names.includes(BUCKET) && !(await has(indexedDB, name))) throw error
    return undefined
  }
}

const has = async (factory: IDBFactory, name: string): Promise<boolean> =>
  (await factory.databases()).some((database) => database.name === name)
