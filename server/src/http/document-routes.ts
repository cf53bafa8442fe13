/**
 * RavenDB's documents `Raven/Hilo/{tag}`, `{"Max": n}`: reading, conditional writing, deleting,
 * alone and in `bulk_docs`. Guarantees that writing one never lets numbers be granted again that a
 * grant holds: `Max` then stays above them.
 */
import { createHash } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { Mark, MarkRefusal, MarkWrite } from '../ledger/ledger.js'
import { authorize, databaseOf } from './access.js'
import type { CheckedOptions } from './options.js'
import { HILO_DOCUMENT, readTag } from './query.js'
import { badParameter, badRequest, noRoom, Refusal, refused } from './refusals.js'

const SERVER_PREFIX_DOCUMENT = 'Raven/ServerPrefixForHilo'
/** Matches no version: the document must be another one. */
const NEVER = -1

const hiloDocument = z.looseObject({ Max: z.int().min(0).max(Number.MAX_SAFE_INTEGER) })

export function documentRoutes(options: CheckedOptions): Hono {
  const { ledger, nodeTag, limits, serverPrefix } = options
  const commands = z.object({
    Commands: z
      .array(
        z.discriminatedUnion('Type', [
          z.object({
            Type: z.literal('PUT'),
            Id: z.string(),
            ChangeVector: z.string().nullish(),
            Document: hiloDocument,
          }),
          z.object({
            Type: z.literal('DELETE'),
            Id: z.string(),
            ChangeVector: z.string().nullish(),
          }),
        ]),
      )
      .min(1)
      .max(limits.batch),
  })

  const changeVector = (database: string, { version }: Mark) =>
    `${nodeTag}:${version}-${databaseId(database)}`

  async function read(c: Context, database: string, id: string): Promise<object | null> {
    const metadata = (vector: string) => ({
      '@collection': '@hilo',
      '@id': id,
      '@change-vector': vector,
    })
    if (id.toLowerCase() === SERVER_PREFIX_DOCUMENT.toLowerCase())
      return serverPrefix === undefined
        ? null
        : {
            ServerPrefix: serverPrefix,
            '@metadata': metadata(`${nodeTag}:1-${databaseId(database)}`),
          }
    if (!isHiloDocument(id)) return null
    const tag = tagOf(id)
    await authorize(c, options, { database, tag, count: 0 })
    const mark = await ledger.read({ database, collection: tag })
    return mark.version === 0
      ? null
      : { Max: mark.max, '@metadata': metadata(changeVector(database, mark)) }
  }

  /** @param conflict the status when a condition does not hold: RavenDB's, or HTTP's */
  async function write(
    c: Context,
    writes: { id: string; max: number; expected: string | null | undefined }[],
    conflict: 409 | 412 = 409,
  ): Promise<string[]> {
    const database = databaseOf(c, options)
    const marks = writes.map(
      ({ id, max, expected }): MarkWrite => ({
        database,
        collection: tagOf(id),
        max,
        version: versionOf(expected, database),
      }),
    )
    for (const { collection: tag } of marks)
      await authorize(c, options, { database, tag, count: 0 })
    const outcome = await ledger.write(marks)
    if ('refused' in outcome) throw writeRefused(outcome, conflict)
    return outcome.map((mark) => changeVector(database, mark))
  }

  return new Hono()
    .get('/docs', async (c) => {
      const database = databaseOf(c, options)
      const ids = c.req.queries('id') ?? []
      if (ids.length === 0 || ids.length > limits.batch)
        throw badParameter(`Query string id is given 1 to ${limits.batch} times.`)
      const documents = await Promise.all(ids.map((id) => read(c, database, id)))
      if (documents.length === 1 && !documents[0])
        return c.json({ Results: [null], Includes: {} }, 404)
      return c.json({ Results: documents, Includes: {} })
    })
    .put('/docs', async (c) => {
      const id = c.req.query('id') ?? ''
      const body = hiloDocument.safeParse(await c.req.json().catch(() => undefined))
      if (!body.success)
        throw badRequest(
          'A HiLo document is JSON {"Max": n}, with a whole number from 0 to 2^53-1.',
        )
      const [vector] = await write(
        c,
        [{ id, max: body.data.Max, expected: expectedBy(c) }],
        c.req.header('If-None-Match') === undefined ? 409 : 412,
      )
      return c.json({ Id: id, ChangeVector: vector }, 201)
    })
    .delete('/docs', async (c) => {
      await write(c, [{ id: c.req.query('id') ?? '', max: 0, expected: c.req.header('If-Match') }])
      return c.body(null, 204)
    })
    .post('/bulk_docs', async (c) => {
      const body = commands.safeParse(await c.req.json().catch(() => undefined))
      if (!body.success)
        throw badRequest(
          'This server stores HiLo documents only: PUT {"Max": n} or DELETE of ' +
            `${HILO_DOCUMENT}…, up to ${limits.batch} Commands.`,
        )
      const writes = body.data.Commands.map((command) => ({
        id: command.Id,
        max: command.Type === 'PUT' ? command.Document.Max : 0,
        expected: command.ChangeVector,
      }))
      const vectors = await write(c, writes)
      const results = body.data.Commands.map(({ Type, Id }, i) =>
        Type === 'PUT'
          ? {
              Type,
              '@id': Id,
              '@collection': '@hilo',
              '@change-vector': vectors[i],
              '@last-modified': new Date().toISOString(),
            }
          : { Type, Id, Deleted: true, ChangeVector: vectors[i] },
      )
      return c.json({ Results: results }, 201)
    })
}

const isHiloDocument = (id: string): boolean =>
  id.toLowerCase().startsWith(HILO_DOCUMENT.toLowerCase())

function tagOf(id: string): string {
  if (!isHiloDocument(id))
    throw refused(
      `This server stores no documents but ${HILO_DOCUMENT}…: keep '${id.slice(0, 100)}' in ` +
        'a database.',
    )
  return readTag(id.slice(HILO_DOCUMENT.length), '/')
}

/** What RavenDB ends a change vector with: which database it speaks of. */
const databaseId = (database: string): string =>
  createHash('sha256').update(database.toLowerCase()).digest('base64').slice(0, 22)

/**
 * What a write must find, as `versionOf` reads it. RavenDB asks by `If-Match`, HTTP for a document
 * that is not there by `If-None-Match: *`.
 */
function expectedBy(c: Context): string | undefined {
  const [match, noneMatch] = [c.req.header('If-Match'), c.req.header('If-None-Match')]
  if (noneMatch === undefined) return match
  if (noneMatch !== '*' || match !== undefined)
    throw badRequest(
      'A write has If-Match with a change vector, or If-None-Match: * for a document that is ' +
        'not there yet. Nothing was written.',
    )
  return ''
}

/** @param expected a change vector, quoted or not; empty: there must be no document; absent: any */
function versionOf(expected: string | null | undefined, database: string): number | undefined {
  if (expected === undefined || expected === null) return undefined
  const text = expected.replace(/^"(.*)"$/, '$1')
  if (text === '') return 0
  const [, version, id] = /^[A-Z]{1,4}:(\d{1,15})-(.*)$/.exec(text) ?? []
  return id === databaseId(database) ? Number(version) : NEVER
}

function writeRefused({ refused: why, write, mark }: MarkRefusal, conflict: 409 | 412): Refusal {
  const document = HILO_DOCUMENT + write.collection
  switch (why) {
    case 'conflict':
      return new Refusal(
        conflict,
        'Raven.Client.Exceptions.ConcurrencyException',
        `Document ${document} has changed: it is at {"Max": ${mark.max}} now. Read it again, ` +
          'then write.',
      )
    case 'jump':
      return refused(
        `Document ${document} is at ${mark.max}; ${write.max} is too far above to be ` +
          'believed. To go there, run: offline-hilo-server raise-floor.',
      )
    case 'full':
      return noRoom('collections')
    case 'bound':
      return refused(
        `The numbers of '${write.collection}' come from another counter, which ${document} does not ` +
          'move. Claim ranges instead.',
      )
  }
}
