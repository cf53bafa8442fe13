/**
 * What this server refuses on purpose, and RavenDB does not, or in other words.
 */
import type { Difference } from './differences.js'
import type { Answered } from './words.js'

const refused = (status: number, Type: string, Message: string): Answered => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: { Message, Type },
})
const badParameter = (message: string) => refused(500, 'System.ArgumentException', message)
const badRequest = (message: string) => refused(400, 'System.ArgumentException', message)
const limited = (message: string) => refused(422, 'System.InvalidOperationException', message)

const tooMany = (message: string) => refused(422, 'System.ArgumentOutOfRangeException', message)

const all = (requests: readonly string[], answer: Answered): Record<string, Answered> =>
  Object.fromEntries(requests.map((request) => [request, answer]))

const beyond = (name: string) =>
  badParameter(`Query string '${name}' is beyond 2^53-1, the highest number this server grants.`)
const endsIn = (separator: string) =>
  badParameter(`The tag may not end in the separator '${separator}', which is added to it.`)
const NO_NAME = badParameter(
  "Query string 'name' has control characters, is no well-formed Unicode, or has more than 511 " +
    'bytes of UTF-8.',
)
const CONTROL = badParameter('The tag has control characters or is no well-formed Unicode.')
const SEPARATOR = badParameter(
  "identityPartsSeparator is one character, and neither '|', which RavenDB keeps for identities, " +
    'nor a letter, a digit or an invisible character.',
)
const noPipe = (id: string) =>
  refused(
    500,
    'System.NotSupportedException',
    `Document ids cannot end with '|', but was called with ${id}. Identities are only generated ` +
      'for external requests, not calls to PutDocument and such.',
  )
const OTHER_DOCUMENT = limited(
  "This server stores no documents but Raven/Hilo/…: keep 'orders/1' in a database.",
)
const NO_HILO_DOCUMENT = badRequest(
  'A HiLo document is JSON {"Max": n}, with a whole number from 0 to 2^53-1.',
)
const NO_HILO_COMMAND = badRequest(
  'This server stores HiLo documents only: PUT {"Max": n} or DELETE of Raven/Hilo/…, up to 100 ' +
    'Commands.',
)
const AS_TEXT = 'PUT docs?id=Raven/Hilo/orders · Content-Type: text/plain'
const OTHER =
  '{"Commands":[{"Id":"orders/1","ChangeVector":null,"Document":{"Name":"x"},"Type":"PUT"}]}'
const LEAST = '-9223372036854775808'
const METADATA = '"@metadata":{"@collection":"@hilo"}'

export const refusals: readonly Difference[] = [
  {
    title: 'Numbers end at 2^53−1',
    answers: {
      ...all(
        [
          'far numbers: GET hilo/next?tag=c&lastBatchSize=9223372036854775807',
          'far numbers: GET hilo/next?tag=d&lastBatchSize=9223372036854775807&lastRangeAt={ago 5}',
          `far numbers: GET hilo/next?tag=d&lastBatchSize=${LEAST}&lastRangeAt={ago 5}`,
          `far numbers: GET hilo/next?tag=d&lastBatchSize=${LEAST}&lastRangeAt={ago 65}`,
        ],
        beyond('lastBatchSize'),
      ),
      ...all(
        [
          'far numbers: GET hilo/next?tag=g&lastMax=9223372036854775807',
          'far numbers: GET hilo/next?tag=h&lastMax=-9223372036854775808',
        ],
        beyond('lastMax'),
      ),
      'identity/seed: POST identity/seed?name=orders|&value=-1': badParameter(
        'An identity starts at 0 or above.',
      ),
    },
  },
  {
    title: 'Limits',
    answers: {
      'far numbers: GET hilo/next?tag=a&lastBatchSize=2000000': tooMany(
        'This server grants at most 1048576 numbers at once, 2000000 were asked for. Ask several ' +
          'times for fewer, or raise limits.count of the server.',
      ),
      'far numbers: GET hilo/next?tag=f&lastMax=9007199254740900': limited(
        "The client saw number 9007199254740900 of 'f', but this server has granted only up to " +
          '0: too far apart to be believed. If the server was restored from an old backup, run: ' +
          'npx offline-hilo-server raise-floor ' +
          '(then nothing up to 9007199254740900 is granted again).',
      ),
      'identity/seed: POST identity/seed?name=items|&value=9007199254740990': limited(
        "Identity 'items|' is at 51; the seed is too far above to be believed. Seed it in steps, " +
          'or raise limits.maxJump.',
      ),
      ...all(
        [
          'identity/next: POST identity/next?name={a 512}',
          'identity/next: POST identity/next?name={a 600}',
        ],
        NO_NAME,
      ),
    },
  },
  {
    title: 'Some names are refused',
    answers: {
      'tags: GET hilo/next?tag=orders/': endsIn('/'),
      'tags: GET hilo/next?tag=/': endsIn('/'),
      'tags: GET hilo/next?tag=orders-&identityPartsSeparator=-': endsIn('-'),
      'tags: GET hilo/next?tag=-&identityPartsSeparator=-': endsIn('-'),
      'tags: GET hilo/next?tag=a%0Ab': CONTROL,
      'tags: GET hilo/next?tag=a%00b': CONTROL,
      'separators: GET hilo/next?tag=t13&identityPartsSeparator=|': SEPARATOR,
      'separators: GET hilo/next?tag=t17&identityPartsSeparator=1': SEPARATOR,
      'separators: GET hilo/next?tag=t18&identityPartsSeparator=x': SEPARATOR,
      'separators: GET hilo/next?tag=t19&identityPartsSeparator=%C3%B6': SEPARATOR,
      'separators: GET hilo/next?tag=t21&identityPartsSeparator=%00': SEPARATOR,
      'returns that lack something: PUT hilo/return?tag=orders|&end=1&last=1':
        noPipe('Raven/Hilo/orders|'),
      'returns that lack something: PUT hilo/return?tag=orders/&end=1&last=1': endsIn('/'),
      'identity/next: POST identity/next?name=|': badParameter(
        "The name of an identity is more than its '|'.",
      ),
      'identity/next: POST identity/next?name=a%0Ab': NO_NAME,
    },
  },
  {
    title: 'Only HiLo documents are stored',
    answers: {
      'a document is deleted: DELETE docs?id=orders/1': OTHER_DOCUMENT,
      [`ids of a document: PUT docs?id=orders/1 · {"Max":1,${METADATA}}`]: OTHER_DOCUMENT,
      [`ids of a document: PUT docs?id=Raven/Hilo/ · {"Max":1,${METADATA}}`]: badParameter(
        'The id needs the name of a collection after Raven/Hilo/.',
      ),
      [`ids of a document: PUT docs?id=Raven/Hilo/a| · {"Max":1,${METADATA}}`]:
        noPipe('Raven/Hilo/a|'),
      [`ids of a document: PUT docs?id=Raven/Hilo/a/ · {"Max":1,${METADATA}}`]: endsIn('/'),
      [`ids of a document: ${AS_TEXT} · {"Max":1,${METADATA}}`]: badRequest(
        "This body has to be JSON, sent with 'Content-Type: application/json'; it came as " +
          "'text/plain'. Nothing was done.",
      ),
      'bodies of a document: PUT docs?id=Raven/Hilo/orders · ': badRequest(
        'This body is empty. If your server reads bodies before this handler, as express.json() ' +
          'does, let the handler come first. Nothing was done.',
      ),
      ...all(
        ['x', '{', '[]', '1', 'null', '{}', '{"max":1}', '{"Max":"1"}', '{"Max":1.5}']
          .concat('{"Max":-1}', '{"Max":9007199254740992}')
          .map((body) => `bodies of a document: PUT docs?id=Raven/Hilo/orders · ${body}`),
        NO_HILO_DOCUMENT,
      ),
      ...all(
        [
          `bulk_docs: POST bulk_docs · ${OTHER}`,
          'bulk_docs: POST bulk_docs · {"Commands":[{"Id":"Raven/Hilo/orders","Type":"PATCH"}]}',
          'bulk_docs: POST bulk_docs · {}',
          'bulk_docs: POST bulk_docs · x',
        ],
        NO_HILO_COMMAND,
      ),
      'no route: PATCH docs?id=Raven/Hilo/orders': refused(
        400,
        'Raven.Client.Exceptions.Routing.RouteNotFoundException',
        'There is no handler for path: PATCH /databases/{db}/docs?id=Raven/Hilo/orders',
      ),
      'no route: HEAD docs?id=Raven/Hilo/orders': { status: 400, headers: {}, body: undefined },
    },
  },
]
