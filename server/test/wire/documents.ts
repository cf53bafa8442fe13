/** The HiLo documents: read, written and deleted, with and without a condition. */
import type { Exchange } from './exchange.js'

const DOCUMENT = 'docs?id=Raven/Hilo/orders'
const METADATA = { '@metadata': { '@collection': '@hilo' } }
const read = `GET ${DOCUMENT}`
const put = (Max: unknown, headers?: Record<string, string>, line = `PUT ${DOCUMENT}`) => ({
  line,
  body: { Max, ...METADATA },
  ...(headers && { headers }),
})
const bulk = (...Commands: object[]) => ({ line: 'POST bulk_docs', body: { Commands } })

/** Vector 1 was, vector 2 is the document's. */
const CONDITIONS = [
  '{vector 2}',
  '"{vector 2}"',
  '{vector 1}',
  '"{vector 1}"',
  '',
  '""',
  '*',
  'x',
  '"x"',
  'A:2',
  '2',
  'null',
]

export const documents: Exchange[] = [
  {
    title: 'documents are read',
    requests: [
      read,
      'GET hilo/next?tag=orders',
      read,
      `${read}&metadataOnly=true`,
      `${read}&metadataOnly=TRUE`,
      `${read}&metadataOnly=false`,
      `${read}&metadataOnly=x`,
      `${read}&METADATAONLY=true`,
      'GET docs?ID=Raven/Hilo/orders',
      'GET docs?id=raven/hilo/ORDERS',
      'GET docs?id=Raven/Hilo/lines',
      'GET docs?id=Raven/Hilo/orders&id=Raven/Hilo/lines',
      'GET docs?id=Raven/Hilo/lines&id=Raven/Hilo/orders',
      'GET docs?id=Raven/Hilo/lines&id=Raven/Hilo/items',
      'GET docs?id=Raven/Hilo/orders&id=Raven/Hilo/orders',
      'GET docs?id=Raven/Hilo/orders&id=raven/hilo/orders',
      'GET docs?id=Raven/Hilo/orders&id=Raven/Hilo/lines&metadataOnly=true',
      'GET docs?id=Raven/ServerPrefixForHilo',
      'GET docs?id=orders/1',
      'GET docs?id=Raven/Hilo/',
      'GET docs?id=Raven/Hilo/orders/',
      'GET docs?id=Raven/Hilo/orders|',
      'GET docs?id=',
      'GET docs?id=%20',
      'GET docs?id=&id=Raven/Hilo/orders',
      `GET docs?id=Raven/Hilo/{a 600}`,
      'GET /docs',
    ],
  },
  {
    title: 'a read with If-None-Match',
    requests: [
      'GET hilo/next?tag=orders',
      read,
      { line: read, headers: { 'If-None-Match': '"{vector 1}"' } },
      { line: read, headers: { 'If-None-Match': '{vector 1}' } },
      { line: read, headers: { 'If-None-Match': '"x"' } },
      { line: `${read}&id=Raven/Hilo/lines`, headers: { 'If-None-Match': '"{vector 1}"' } },
    ],
  },
  {
    title: 'a document is written',
    requests: [
      put(32),
      read,
      'GET hilo/next?tag=orders',
      read,
      put(100),
      'GET hilo/next?tag=orders',
      put(200, {}, 'PUT docs?ID=raven/hilo/ORDERS'),
      read,
      put(1, {}, 'PUT docs?id=Raven/Hilo/lines'),
      'GET docs?id=Raven/Hilo/orders&id=Raven/Hilo/lines',
    ],
  },
  ...CONDITIONS.map((condition): Exchange => {
    return {
      title: `If-Match: ${condition}`,
      requests: [
        put(32),
        put(64),
        put(96, { 'If-Match': condition }),
        read,
        { line: `DELETE ${DOCUMENT}`, headers: { 'If-Match': condition } },
        read,
      ],
    }
  }),
  ...CONDITIONS.map((condition): Exchange => {
    return {
      title: `If-Match: ${condition}, of a document that is not there`,
      requests: [
        put(32, {}, 'PUT docs?id=Raven/Hilo/lines'),
        put(64, {}, 'PUT docs?id=Raven/Hilo/lines'),
        put(96, { 'If-Match': condition }),
        read,
        {
          line: 'DELETE docs?id=Raven/Hilo/items',
          headers: { 'If-Match': condition },
        },
      ],
    }
  }),
  {
    title: 'a document is deleted',
    requests: [
      `DELETE ${DOCUMENT}`,
      put(32),
      `DELETE ${DOCUMENT}`,
      read,
      `DELETE ${DOCUMENT}`,
      'GET hilo/next?tag=orders',
      put(64, { 'If-Match': '' }),
      read,
      'DELETE docs',
      'DELETE docs?id=',
      'DELETE docs?id=orders/1',
    ],
  },
  {
    title: 'a document is written without its collection',
    requests: [
      { line: `PUT ${DOCUMENT}`, body: { Max: 32 } },
      read,
      bulk({ Id: 'Raven/Hilo/orders', Document: { Max: 64 }, Type: 'PUT' }),
    ],
  },
  {
    title: 'bodies of a document',
    requests: [
      '{"Max":1,"Other":2}',
      '',
      'x',
      '{',
      '[]',
      '1',
      'null',
      '{}',
      '{"max":1}',
      '{"Max":"1"}',
      '{"Max":1.5}',
    ]
      .map((body) => ({ line: `PUT ${DOCUMENT}`, body }))
      .concat(
        ['{"Max":-1}', '{"Max":9007199254740992}'].map((body) => ({
          line: `PUT ${DOCUMENT}`,
          body,
        })),
      ),
  },
  {
    title: 'ids of a document',
    requests: [
      put(1, {}, 'PUT docs'),
      put(1, {}, 'PUT docs?id='),
      put(1, {}, 'PUT docs?id=%20'),
      put(1, {}, 'PUT docs?id=Raven/Hilo/'),
      put(1, {}, 'PUT docs?id=Raven/Hilo/a|'),
      put(1, {}, 'PUT docs?id=Raven/Hilo/a/'),
      put(1, {}, 'PUT docs?id=orders/1'),
      put(1, {}, 'PUT docs?id=Raven/Hilo/a&id=Raven/Hilo/b'),
      put(1, {}, `PUT docs?id=Raven/Hilo/{a 600}`),
      put(1, { 'Content-Type': 'text/plain' }),
    ],
  },
  {
    title: 'bulk_docs',
    requests: [
      bulk({
        Id: 'Raven/Hilo/orders',
        ChangeVector: null,
        Document: { Max: 32, ...METADATA },
        Type: 'PUT',
      }),
      bulk(
        {
          Id: 'Raven/Hilo/orders',
          ChangeVector: null,
          Document: { Max: 64, ...METADATA },
          Type: 'PUT',
        },
        {
          Id: 'Raven/Hilo/lines',
          ChangeVector: null,
          Document: { Max: 32, ...METADATA },
          Type: 'PUT',
        },
      ),
      bulk({
        Id: 'Raven/Hilo/orders',
        ChangeVector: '{vector 1}',
        Document: { Max: 96, ...METADATA },
        Type: 'PUT',
      }),
      bulk({
        Id: 'Raven/Hilo/orders',
        ChangeVector: '{vector 2}',
        Document: { Max: 96, ...METADATA },
        Type: 'PUT',
      }),
      bulk({ Id: 'Raven/Hilo/lines', ChangeVector: null, Type: 'DELETE' }),
      bulk({ Id: 'Raven/Hilo/lines', ChangeVector: null, Type: 'DELETE' }),
      bulk({ Id: 'Raven/Hilo/orders', ChangeVector: '{vector 1}', Type: 'DELETE' }),
      bulk({ Id: 'orders/1', ChangeVector: null, Document: { Name: 'x' }, Type: 'PUT' }),
      bulk({ Id: 'Raven/Hilo/orders', Type: 'PATCH' }),
      bulk(),
      { line: 'POST bulk_docs', body: '{}' },
      { line: 'POST bulk_docs', body: 'x' },
      read,
    ],
  },
]
