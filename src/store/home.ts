/**
 * The home of a database: this package's storage bucket, or the site's default storage. Guarantees
 * that no database gets a second home while the first can have its records: a second one would be a
 * second device, and what the first has stored would never be used.
 */
import { BUCKET, type Bucket, buckets, openBucket } from '../device/bucket.js'

/**
 * A database stays where it is, and a new one is made in the bucket. The bucket is looked at first:
 * the default storage does not answer while the app writes in bulk.
 * @param open in the default storage, without a bucket; rejects with `AbortError` where the
 * database is not there, unless it may make it
 * @throws of `open`; what the browser says, while nobody knows where the database is
 */
export async function openAtHome<Db>(
  name: string,
  open: (bucket: Bucket | undefined, mayMake: boolean) => Promise<Db>,
): Promise<Db> {
  const bucket = await bucketFor(name)
  if (!bucket) return open(undefined, true)
  try {
    return await open(bucket, false)
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error
    // guard: H35 what an older browser has stored in the default storage stays in use
    return open((await has(name)) ? undefined : bucket, true)
  }
}

async function bucketFor(name: string): Promise<Bucket | undefined> {
  try {
    return await openBucket()
  } catch (error) {
    // guard: H35 buckets that cannot be listed for once may have this database
    const names = await buckets()!
      .keys()
      .catch(({ name }): string[] => (name === 'SecurityError' ? [] : [BUCKET]))
    // guard: H35 a bucket that fails once is no reason for a second home
    if (names.includes(BUCKET) && !(await has(name))) throw error
    return undefined
  }
}

/** In the default storage. */
const has = async (name: string): Promise<boolean> =>
  (await indexedDB.databases()).some((database) => database.name === name)
