/**
 * `GET /databases/{db}/hilo/explain`: where one number is, for a client with the right `explain`.
 */
import { Hono } from 'hono'
import type { ExplainAnswer } from '../../../src/core/wire.js'
import type { ExplainedGrant, Explanation } from '../ledger/ledger.js'
import type { Access } from './access.js'
import { inWords } from './explain-words.js'
import type { CheckedOptions } from './handler-options.js'
import { answer, checkTag, DEFAULT_SEPARATOR, LIMITS, Parameters, time } from './messages.js'
import { badRequest } from './refusals.js'
import { withTimes } from './series-bodies.js'

export function explainRoutes({ ledger }: CheckedOptions, access: Access): Hono {
  return new Hono().get('/hilo/explain', async (c) => {
    const { database, admit } = access.callerOf(c, ['explain'])
    const query = new Parameters(c.req.url)
    const collection = query.single('tag')
    checkTag(collection, DEFAULT_SEPARATOR)
    query.mandatory('number')
    const number = query.number('number')
    if (number < 1) throw badRequest('A number is a whole number from 1 to 2^53-1.')
    const series = query.note('series', LIMITS.nameBytes)
    const period = query.note('period', LIMITS.periodBytes)
    // guard: H26 who asks for numbers does not read who has them
    const wanted = [{ action: 'explain', tag: collection, count: 0 } as const]
    const found = await admit({ wanted }, () =>
      ledger.explain({ database, collection, number, series, period }),
    )
    return answer(bodyOf(found))
  })
}

function bodyOf(explanation: Explanation): ExplainAnswer {
  const { collection, number, id, grants, series, more } = explanation
  return {
    collection,
    number,
    text: inWords(explanation),
    ...(id && { id }),
    grants: grants.map(grantBody),
    series: series.map(({ isWhole, ...each }) => withTimes(each)),
    ...(more && { more }),
  }
}

function grantBody(grant: ExplainedGrant): ExplainAnswer['grants'][number] {
  const { low, high, grantedAt, heardAt, serverTag, device, isReturned, usedTo } = grant
  return {
    low,
    high,
    granted: time(grantedAt),
    heard: time(heardAt),
    node: serverTag,
    device,
    returned: isReturned,
    ...(usedTo !== undefined && { usedTo }),
  }
}
