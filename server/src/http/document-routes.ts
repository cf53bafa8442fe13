/**
 * RavenDB's documents `Raven/Hilo/{tag}`, `{"Max": n}`: read, written and deleted, one by one and
 * in `bulk_docs`. Guarantees that a write never makes the server grant numbers that somebody holds:
 * `Max` then stays above them.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { MarkRefusal, MarkWrite } from '../ledger/ledger.js'
import type { Access, Caller } from './access.js'
import { readJson } from './body.js'
import { changeVector, expectedVersion } from './change-vector.js'
import type { CheckedOptions } from './options.js'
import { HILO_DOCUMENT, readTag } from './query.js'
import { badParameter, badRequest, quotaReached, Refusal, refused, restored } from './refusals.js'

const SERVER_PREFIX_DOCUMENT = 'Raven/ServerPrefixForHilo'

const hiloDocument = z.looseObject({ Max: z.int().min(0).max(Number.MAX_SAFE_INTEGER) })

const bulkBody = z.object({
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
    .min(1),
})

interface DocumentWrite {
  id: string
  max: number
  /** The change vector that the document must have, as `expectedVersion` reads it. */
  expected: string | null | undefined
}

export function documentRoutes(
  { ledger, nodeTag, limits, serverPrefix }: CheckedOptions,
  access: Access,
): Hono {
  /** Null where there is no such document. */
  async function read({ database, allow }: Caller, id: string): Promise<object | null> {
    const tag = isHiloDocument(id) ? tagOf(id) : undefined
    await allow({ action: 'document-read', tag, count: 0 })
    const metadata = (version: number) => ({
      '@collection': '@hilo',
      '@id': id,
      '@change-vector': changeVector(nodeTag, database, version),
    })
    if (isSame(id, SERVER_PREFIX_DOCUMENT))
      return serverPrefix === undefined
        ? null
        : { ServerPrefix: serverPrefix, '@metadata': metadata(1) }
    if (tag === undefined) return null
    const mark = await ledger.read({ database, collection: tag })
    return mark.version === 0 ? null : { Max: mark.max, '@metadata': metadata(mark.version) }
  }

  /**
   * Resolves with the documents' new change vectors.
   * @param conflict the status where a condition does not hold: RavenDB's, or HTTP's
   */
  async function write(
    c: Context,
    writes: readonly DocumentWrite[],
    conflict: 409 | 412 = 409,
  ): Promise<string[]> {
    const { database, allow } = access.callerOf(c)
    const marks = writes.map(
      ({ id, max, expected }): MarkWrite => ({
        database,
        collection: tagOf(id),
        max,
        version: expectedVersion(expected, database),
      }),
    )
    for (const { collection: tag } of marks)
      await allow({ action: 'document-write', tag, count: 0 })
    const outcome = await ledger.write(marks)
    if ('refused' in outcome) throw writeRefused(outcome, conflict)
    return outcome.map(({ version }) => changeVector(nodeTag, database, version))
  }

  return new Hono()
    .get('/docs', async (c) => {
      const caller = access.callerOf(c)
      const ids = c.req.queries('id') ?? []
      if (ids.length === 0 || ids.length > limits.batch)
        throw badParameter(`Query string id is given 1 to ${limits.batch} times.`)
      const documents = await Promise.all(ids.map((id) => read(caller, id)))
      if (documents.length === 1 && !documents[0])
        return c.json({ Results: [null], Includes: {} }, 404)
      return c.json({ Results: documents, Includes: {} })
    })
    .put('/docs', async (c) => {
      const id = c.req.query('id') ?? ''
      const { data } = hiloDocument.safeParse(await readJson(c))
      if (!data)
        throw badRequest(
          'A HiLo document is JSON {"Max": n}, with a whole number from 0 to 2^53-1.',
        )
      const conflict = c.req.header('If-None-Match') === undefined ? 409 : 412
      const [vector] = await write(c, [{ id, max: data.Max, expected: expectedBy(c) }], conflict)
      return c.json({ Id: id, ChangeVector: vector }, 201)
    })
    .delete('/docs', async (c) => {
      const id = c.req.query('id') ?? ''
      await write(c, [{ id, max: 0, expected: c.req.header('If-Match') }])
      return c.body(null, 204)
    })
    .post('/bulk_docs', async (c) => {
      const { data } = bulkBody.safeParse(await readJson(c))
      if (!data || data.Commands.length > limits.batch)
        throw badRequest(
          'This server stores HiLo documents only: PUT {"Max": n} or DELETE of ' +
            `${HILO_DOCUMENT}…, up to ${limits.batch} Commands.`,
        )
      const writes = data.Commands.map((command) => ({
        id: command.Id,
        max: command.Type === 'PUT' ? command.Document.Max : 0,
        expected: command.ChangeVector,
      }))
      const vectors = await write(c, writes)
      const results = data.Commands.map(({ Type, Id }, i) =>
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

const isSame = (id: string, other: string): boolean => id.toLowerCase() === other.toLowerCase()

const isHiloDocument = (id: string): boolean =>
  id.toLowerCase().startsWith(HILO_DOCUMENT.toLowerCase())

/** @throws Refusal */
function tagOf(id: string): string {
  if (!isHiloDocument(id))
    throw refused(
      'limit',
      `This server stores no documents but ${HILO_DOCUMENT}…: keep '${id.slice(0, 100)}' in ` +
        'a database.',
    )
  return readTag(id.slice(HILO_DOCUMENT.length), '/')
}

/**
 * The condition of a write, for `expectedVersion`. RavenDB's clients send `If-Match`; HTTP has
 * `If-None-Match: *` for a document that must not be there yet.
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

function writeRefused({ refused: why, write, mark }: MarkRefusal, conflict: 409 | 412): Refusal {
  const document = HILO_DOCUMENT + write.collection
  switch (why) {
    case 'conflict':
      return new Refusal(
        'conflict',
        conflict,
        'Raven.Client.Exceptions.ConcurrencyException',
        `Document ${document} has changed: it is at {"Max": ${mark.max}} now. Read it again, ` +
          'then write.',
      )
    case 'jump':
      return refused(
        'jump',
        `Document ${document} is at ${mark.max}; ${write.max} is too far above to be ` +
          'believed. To go there, run: offline-hilo-server raise-floor.',
      )
    case 'full':
      return quotaReached('collections')
    case 'restored':
      return restored([write.database])
    case 'bound':
      return refused(
        'limit',
        `The numbers of '${write.collection}' come from another counter, which ${document} ` +
          'does not move. Claim ranges instead.',
      )
  }
}
