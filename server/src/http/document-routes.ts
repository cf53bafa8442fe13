/**
 * RavenDB's documents `Raven/Hilo/{tag}`, `{"Max": n}`: read, written and deleted, one by one and
 * in `bulk_docs`. Guarantees that a write never makes the server grant numbers that somebody holds:
 * `Max` then stays above them.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { formatServerTime } from '../../../src/core/wire.js'
import type { MarkWrite } from '../ledger/ledger.js'
import type { Access, Caller } from './access.js'
import { type Cost, type Costs, sumOf, type Turn } from './budgets.js'
import {
  type Conflict,
  changeVector,
  conflicted,
  etagOf,
  expectedVersion,
  isSame,
  NEVER,
  tagOf,
  tagToRead,
  unquoted,
  writeRefused,
} from './documents.js'
import type { CheckedOptions } from './handler-options.js'
import { answer, answerNothing, HILO_DOCUMENT, Parameters, readJson } from './messages.js'
import { badParameter, badRequest } from './refusals.js'

const SERVER_PREFIX_DOCUMENT = 'Raven/ServerPrefixForHilo'

interface DocumentWrite {
  id: string
  kind: Conflict['kind']
  max: number
  /** The change vector that the document must have, as `expectedVersion` reads it. */
  expected: string | null | undefined
}

interface StoredDocument {
  Max?: number
  ServerPrefix?: string
  '@metadata': { '@collection': string; '@change-vector': string; '@id': string }
}

export function documentRoutes(options: CheckedOptions, access: Access, costs: Costs): Hono {
  const { limits } = options
  const { read, write } = documentsOf(options, costs)
  return new Hono()
    .get('/docs', async (c) => {
      const caller = access.callerOf(c, ['document-read'])
      const query = new Parameters(c.req.url)
      const isMetadataOnly = query.flag('metadataOnly', 'bool val')
      const ids = query.all('id')
      if (ids.length === 0 || ids.length > limits.batch)
        throw badParameter(`Query string id is given 1 to ${limits.batch} times.`)
      const wanted = ids.map((id) => {
        const tag = tagToRead(id)
        return { action: 'document-read', tag, count: 0 } as const
      })
      const documents = await caller.admit({ wanted, units: ids.length }, () =>
        read(caller.database, ids),
      )
      if (documents.length === 1 && !documents[0]) return answerNothing(404)
      const vectors = documents.map((document) => document?.['@metadata']['@change-vector'])
      const etag = etagOf(vectors)
      if (unquoted(c.req.header('If-None-Match') ?? '') === etag) return answerNothing(304)
      const results = isMetadataOnly
        ? documents.map((document) => document && { '@metadata': document['@metadata'] })
        : documents
      return answer({ Results: results, Includes: {} }, 200, { ETag: `"${etag}"` })
    })
    .put('/docs', async (c) => {
      const caller = access.callerOf(c, ['document-write'])
      const id = new Parameters(c.req.url).single('id')
      const { data } = hiloDocument.safeParse(await readJson(c))
      if (!data)
        throw badRequest(
          'A HiLo document is JSON {"Max": n}, with a whole number from 0 to 2^53-1.',
        )
      const conflict = c.req.header('If-None-Match') === undefined ? 409 : 412
      const [vector] = await write(
        caller,
        [{ id, kind: 'Put', max: data.Max, expected: expectedBy(c) }],
        conflict,
      )
      // guard: H11 the answer to a write of a document names it
      return answer({ Id: id, ChangeVector: vector, Claims: data.Claims }, 201)
    })
    .delete('/docs', async (c) => {
      const caller = access.callerOf(c, ['document-write'])
      const id = new Parameters(c.req.url).single('id')
      const expected = c.req.header('If-Match')
      await write(caller, [{ id, kind: 'Delete', max: 0, expected }])
      return answerNothing(204)
    })
    .post('/bulk_docs', async (c) => {
      const caller = access.callerOf(c, ['document-write'])
      const { data } = bulkBody.safeParse(await readJson(c))
      if (!data || data.Commands.length > limits.batch)
        throw badRequest(
          'This server stores HiLo documents only: PUT {"Max": n} or DELETE of ' +
            `${HILO_DOCUMENT}…, up to ${limits.batch} Commands.`,
        )
      const writes = data.Commands.map(
        (command): DocumentWrite => ({
          id: command.Id,
          kind: command.Type === 'PUT' ? 'Put' : 'Delete',
          max: command.Type === 'PUT' ? command.Document.Max : 0,
          expected: command.ChangeVector,
        }),
      )
      const vectors = await write(caller, writes)
      const results = data.Commands.map(({ Type, Id }, i) =>
        Type === 'PUT'
          ? {
              Type,
              '@id': Id,
              '@collection': '@hilo',
              '@change-vector': vectors[i],
              '@last-modified': formatServerTime(Date.now()),
            }
          : { Type, Id, Deleted: true, ChangeVector: null },
      )
      return answer({ Results: results }, 201)
    })
}

const isSameWrite = (one: MarkWrite, other: MarkWrite): boolean =>
  isSame(one.collection, other.collection) && one.max === other.max && one.version === other.version

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

const hiloDocument = z.looseObject({
  Max: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
  /** Names the write, for `documentSource`. It is not stored; the answer repeats it. */
  Claims: z.array(z.string()).optional().catch(undefined),
})

const bulkBody = z.object({
  Commands: z.array(
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
  ),
})

/** Reads and writes documents for a caller, as far as its rights go. */
function documentsOf({ ledger, nodeTag, serverPrefix }: CheckedOptions, costs: Costs) {
  /** Null where there is no such document. */
  async function read(
    database: string,
    ids: readonly string[],
  ): Promise<(StoredDocument | null)[]> {
    const tags = ids.map(tagToRead)
    const keys = tags.flatMap((tag) => (tag === undefined ? [] : { database, collection: tag }))
    const marks = keys.length === 0 ? [] : await ledger.readAll(keys)
    return ids.map((id, i) => {
      const metadata = (version: number) => ({
        '@collection': '@hilo',
        '@change-vector': changeVector(nodeTag, { database, id }, version),
        '@id': id,
      })
      if (isSame(id, SERVER_PREFIX_DOCUMENT))
        return serverPrefix === undefined
          ? null
          : { ServerPrefix: serverPrefix, '@metadata': metadata(1) }
      if (tags[i] === undefined) return null
      const { max, version } = marks.shift()!
      return version === 0 ? null : { Max: max, '@metadata': metadata(version) }
    })
  }

  /**
   * Resolves with the documents' new change vectors.
   * @param conflict the status where a condition does not hold: RavenDB's, or HTTP's
   */
  async function write(
    { database, admit, refund }: Caller,
    writes: readonly DocumentWrite[],
    conflict: 409 | 412 = 409,
  ): Promise<string[]> {
    const marks = writes.map(
      ({ id, kind, max, expected }): MarkWrite => ({
        database,
        collection: tagOf(id),
        max,
        // A deletion that expects no document never holds, as with RavenDB.
        version:
          kind === 'Delete' && unquoted(expected ?? 'any') === ''
            ? NEVER
            : expectedVersion(expected, { database, id }),
      }),
    )
    const tags = marks.length === 0 ? [undefined] : marks.map(({ collection }) => collection)
    const moves = marks.map((mark) => ({ ...mark, count: 0, lastMax: mark.max }))
    let price: Cost = {}
    const asked = {
      wanted: tags.map((tag) => ({ action: 'document-write', tag, count: 0 }) as const),
      cost: async (turn: Turn) => (price = sumOf(await costs.of(moves, turn))),
      units: marks.length,
    }
    const outcome = await admit(asked, () => ledger.write(marks))
    if ('refused' in outcome) {
      refund(price)
      const { id, kind, expected } =
        writes[marks.findIndex((mark) => isSameWrite(mark, outcome.write))]!
      const { version } = outcome.mark
      const actual = version === 0 ? undefined : changeVector(nodeTag, { database, id }, version)
      throw outcome.refused === 'conflict'
        ? conflicted({ id, kind, expected: unquoted(expected ?? ''), actual }, conflict)
        : writeRefused(outcome.refused, outcome)
    }
    return outcome.map(({ version }, i) =>
      changeVector(nodeTag, { database, id: writes[i]!.id }, version),
    )
  }

  return { read, write }
}
