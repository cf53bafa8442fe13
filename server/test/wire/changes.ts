/** What this server answers otherwise than RavenDB on purpose, though it does what is asked. */
import type { Difference } from './differences.js'
import type { Answered } from './words.js'

interface DocumentInAnswer {
  '@metadata': Record<string, string>
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }

const range = (Prefix: string, Low: number, High: number): Answered => ({
  status: 201,
  headers: JSON_TYPE,
  body: { High, LastRangeAt: '{time}', LastSize: High - Low + 1, Low, Prefix, ServerTag: 'A' },
})

const documentOf = (
  Max: number,
  id: string,
  vector: string,
): DocumentInAnswer & { Max: number } => ({
  '@metadata': { '@change-vector': vector, '@collection': '@hilo', '@id': id },
  Max,
})

const found = (etag: string, ...Results: object[]): Answered => ({
  status: 200,
  headers: { ...JSON_TYPE, etag: `"${etag}"` },
  body: { Includes: {}, Results },
})

const ORDERS = 'Raven/Hilo/orders'
const READ = `GET docs?id=${ORDERS}`
const BULK =
  'POST bulk_docs · {"Commands":[{"Id":"Raven/Hilo/orders","Document":{"Max":64},' +
  '"Type":"PUT"}]}'
const NEW = '{"Max":64,"@metadata":{"@collection":"@hilo"}}'
const PUT_NEW = `PUT docs?id=${ORDERS} · If-Match:  · ${NEW}`
const V1 = '{vector 1}'

/** RavenDB's answer with other metadata of its documents. */
function withMetadata(
  raven: Answered,
  change: (metadata: Record<string, string>) => Record<string, string>,
): Answered {
  const { Results } = (raven.body ?? {}) as { Results?: (DocumentInAnswer | null)[] }
  if (!Results?.some((each) => each?.['@metadata'])) return raven
  const changed = Results.map((each) => each && { ...each, '@metadata': change(each['@metadata']) })
  return { ...raven, body: { ...(raven.body as object), Results: changed } }
}

/** What stands behind RavenDB's words. */
const advice = (request: string): string =>
  /no( |%20|\/|%2F)where|\/%20\/|\{a 129\}/.test(request)
    ? "A database's name has 1 to 128 letters, digits, dots, dashes or underscores."
    : 'This server has a list of its databases: add it there, or correct the name.'

export const changes: readonly Difference[] = [
  {
    title: 'A return is answered 204',
    answers: (raven, request) =>
      request.includes(': PUT hilo/return') && raven.status === 200
        ? { ...raven, status: 204 }
        : raven,
  },
  {
    title: 'A return without a grant token has an effect once',
    answers: {
      'a return in another case, and once more: GET hilo/next?tag=orders (2)': range(
        'orders/',
        17,
        48,
      ),
    },
  },
  {
    title: 'Numbers begin at 1',
    answers: { 'far numbers: GET hilo/next?tag=i&lastMax=-1': range('i/', 1, 32) },
  },
  {
    title: 'Documents have no `@last-modified`',
    answers: (raven) => withMetadata(raven, ({ '@last-modified': _, ...metadata }) => metadata),
  },
  {
    title: 'The collection of every document is `@hilo`',
    answers: {
      [`a document is written without its collection: ${READ}`]: found(
        V1,
        documentOf(32, ORDERS, V1),
      ),
      [`a document is written without its collection: ${BULK}`]: {
        status: 201,
        headers: JSON_TYPE,
        body: {
          Results: [
            {
              '@change-vector': '{vector 2}',
              '@collection': '@hilo',
              '@id': ORDERS,
              '@last-modified': '{time}',
              Type: 'PUT',
            },
          ],
        },
      },
    },
  },
  {
    title: "An answer has the document's name as the request wrote it",
    answers: {
      'documents are read: GET docs?id=raven/hilo/ORDERS': found(
        V1,
        documentOf(32, 'raven/hilo/ORDERS', V1),
      ),
      'documents are read: GET docs?id=Raven/Hilo/orders&id=raven/hilo/orders': found(
        '{hash 4}',
        documentOf(32, ORDERS, V1),
        documentOf(32, 'raven/hilo/orders', V1),
      ),
      [`a document is written: ${READ} (3)`]: found(
        '{vector 4}',
        documentOf(200, ORDERS, '{vector 4}'),
      ),
      'a document is written: GET docs?id=Raven/Hilo/orders&id=Raven/Hilo/lines': found(
        '{hash 1}',
        documentOf(200, ORDERS, '{vector 4}'),
        documentOf(1, 'Raven/Hilo/lines', '{vector 5}'),
      ),
    },
  },
  {
    title: 'A deleted document stays',
    answers: {
      [`a document is deleted: ${READ}`]: found('{vector 2}', documentOf(0, ORDERS, '{vector 2}')),
      [`a document is deleted: ${PUT_NEW}`]: {
        status: 409,
        headers: JSON_TYPE,
        body: {
          ActualChangeVector: '{vector 3}',
          ExpectedChangeVector: '',
          Id: ORDERS,
          Message:
            `Document ${ORDERS} has change vector {vector 3}, but Put was called with ` +
            'expecting new document. Optimistic concurrency violation, transaction will be ' +
            'aborted.',
          Type: 'Raven.Client.Exceptions.ConcurrencyException',
        },
      },
      [`a document is deleted: ${READ} (2)`]: found(
        '{vector 3}',
        documentOf(32, ORDERS, '{vector 3}'),
      ),
    },
  },
  {
    title: 'Messages show a path as it was sent, and a name decoded',
    answers: (raven, request) => {
      const body = raven.body as { Message?: string } | undefined
      const Message = request.includes('next%20')
        ? body?.Message?.replace('next ', 'next%20')
        : body?.Message?.replace('no%2Fwhere', 'no/where')
      return Message === undefined ? raven : { ...raven, body: { ...body, Message } }
    },
  },
  {
    title: 'Some messages have a second sentence',
    answers: (raven, request) => {
      const body = raven.body as { Type?: string; Message?: string } | undefined
      const isMissing = /DatabaseDoesNotExistException$|^Error$/.test(body?.Type ?? '')
      if (!isMissing) return raven
      const Message = `${body!.Message!.replace(/\.$/, '')}. ${advice(request)}`
      return { ...raven, body: { ...body, Message } }
    },
  },
  {
    title: '`POST hilo/next` claims for several collections',
    answers: {
      'methods: POST hilo/next?tag=orders': {
        status: 400,
        headers: JSON_TYPE,
        body: {
          Message:
            "This body has to be JSON, sent with 'Content-Type: application/json'; it came " +
            'without a type. Nothing was done.',
          Type: 'System.ArgumentException',
        },
      },
    },
  },
]
