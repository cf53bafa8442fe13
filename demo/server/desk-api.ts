/**
 * The order desk's own small HTTP API. It takes batches of records, answers with a result for each,
 * and lists what changed since. It recognises a record that is sent again after a lost answer, and
 * refuses another record with the same id.
 */
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import { z } from 'zod'
import { COLLECTIONS, type Collection, type Result } from '../records.js'
import type { StoredRecord, Tables } from './tables.js'

const MAX_BATCH = 100
const MAX_BODY_BYTES = 256 * 1024
const MAX_CHANGES = 500

const id = z.string().regex(/^[^\s|]{1,128}$/, 'an id has 1 to 128 characters without spaces')
const version = z.int().min(0).max(1_000_000)
const made = {
  id,
  key: z.uuid(),
  createdAt: z.iso.datetime(),
  tab: z.string().min(1).max(16),
  base: version,
}
const schemas = {
  customers: z.strictObject({ ...made, name: z.string().trim().min(1).max(80) }),
  orders: z.strictObject({
    ...made,
    customer: id,
    lines: z
      .array(
        z.strictObject({
          item: z.string().min(1).max(80),
          quantity: z.int().min(1).max(999),
          cents: z.int().min(0).max(10_000_000),
        }),
      )
      .min(1)
      .max(50),
    follows: id.optional(),
    version: version.min(1),
    edit: z.uuid(),
  }),
}
const batch = z.array(z.unknown()).min(1).max(MAX_BATCH)
const changesQuery = z.object({
  since: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_CHANGES).default(MAX_CHANGES),
})

export function deskApi(tables: Tables): Hono {
  const api = new Hono().basePath('/api')
  // Pages of other sites must not write here.
  api.use(csrf())

  for (const collection of COLLECTIONS) {
    api.post(
      `/${collection}`,
      bodyLimit({
        maxSize: MAX_BODY_BYTES,
        onError: (c) => c.json({ error: 'The batch is too large.' }, 413),
      }),
      async (c) => {
        const body = batch.safeParse(await c.req.json().catch(() => undefined))
        if (!body.success)
          return c.json({ error: `Send a JSON array of 1 to ${MAX_BATCH} ${collection}.` }, 400)
        const results = await storeValid(tables, collection, body.data)
        return c.json({ results, counts: await tables.counts() })
      },
    )
  }
  api.get('/changes', async (c) => {
    const query = changesQuery.safeParse(c.req.query())
    if (!query.success)
      return c.json({ error: `since is a whole number, limit one from 1 to ${MAX_CHANGES}.` }, 400)
    return c.json(await tables.changes(query.data.since, query.data.limit))
  })
  api.get('/counts', async (c) => c.json(await tables.counts()))
  api.notFound((c) => c.json({ error: 'There is nothing here.' }, 404))
  api.onError((error, c) => {
    if (error instanceof HTTPException)
      return c.json({ error: 'Only this site’s own pages may write here.' }, error.status)
    console.error(error)
    return c.json({ error: 'The server failed; send the same batch again.' }, 500)
  })
  return api
}

async function storeValid(
  tables: Tables,
  collection: Collection,
  items: unknown[],
): Promise<Result[]> {
  const valid: StoredRecord[] = []
  const invalid: Result[] = []
  for (const item of items) {
    const parsed = schemas[collection].safeParse(item)
    if (parsed.success) valid.push(parsed.data as StoredRecord)
    else
      invalid.push({
        key: String((item as { key?: unknown } | null)?.key),
        status: 422,
        reason: z.prettifyError(parsed.error),
      })
  }
  return [...(valid.length > 0 ? await tables.store(collection, valid) : []), ...invalid]
}
