/**
 * Routes for operators and clusters: `/` names the program, `/healthz` asks the database,
 * `/metrics`, and `/topology`, which tells RavenDB's clients that a database is on one node, at the
 * address that they asked.
 */
import { Hono } from 'hono'
import { type Access, requireDatabase } from './access.js'
import type { CheckedOptions } from './handler-options.js'
import { answer, answerText, Parameters } from './messages.js'
import type { Metrics } from './metrics.js'
import type { OtherLedgers } from './other-ledgers.js'
import { RETRY_SECONDS, restored, tryLater } from './refusals.js'

const ABOUT =
  'This is offline-hilo-server. It grants ranges of ids to apps, over the HiLo protocol. Its ' +
  'documentation: https://www.npmjs.com/package/offline-hilo-server\n'

/** `/healthz?database=*` asks about all databases. */
const EVERY = '*'

/** The answer of the database. */
interface Found {
  /** Databases that grant nothing. */
  stopped: string[]
  /** The same with those that were dropped: nothing is granted under their names. */
  refused: string[]
  /** The name of the ledger. */
  ledger: string | undefined
}

/** In between, claims have the database. */
const PAUSE_MS = 100

/**
 * Requests that come at the same time share one question to the database. It is asked ten times a
 * second at most, so that nobody can keep it busy.
 */
function seldom<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined
  let askedAt = 0
  const askInTime = async () => {
    const age = Date.now() - askedAt
    // The clock may have been set back.
    if (age >= 0 && age < PAUSE_MS)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS - age))
    askedAt = Date.now()
    return ask()
  }
  return () => {
    asked ??= askInTime().finally(() => {
      asked = undefined
    })
    return asked
  }
}

/** Open to everybody, under any name: a load balancer has no token, and asks by address. */
export function openRoutes(
  { ledger, isReady, databases }: CheckedOptions,
  others: OtherLedgers,
): Hono {
  const ask = seldom(async (): Promise<Found> => {
    await ledger.ping()
    const refused = await ledger.restored({ dropped: true })
    const stopped = refused.length > 0 ? await ledger.restored() : refused
    return { stopped, refused, ledger: await ledger.readName() }
  })
  return new Hono()
    .get('/', () => answerText(ABOUT, 'text/plain; charset=UTF-8'))
    .get('/healthz', async (c) => {
      if (!(await isReady()))
        throw tryLater('stopping', 'This server is about to stop.', RETRY_SECONDS)
      const query = new Parameters(c.req.url)
      const name = query.all('database').length > 0 && query.single('database').toLowerCase()
      if (name && name !== EVERY) requireDatabase(databases, name, 404)
      const { stopped, refused, ledger } = await ask()
      const wanted = name === EVERY ? stopped : refused.filter((database) => database === name)
      if (wanted.length > 0) throw restored(wanted)
      return answer({ status: 'ok', ledger, stopped, others: others.heard() })
    })
}

export function metricsRoutes({ read }: Metrics, access: Access): Hono {
  if (!read) return new Hono()
  // Not behind the gate: a server that is full has to be looked at.
  const ask = seldom(read)
  return new Hono().get('/metrics', async (c) => {
    await access.allowStatus(c)
    const { text, type } = await ask()
    return answerText(text, type)
  })
}

export function topologyRoutes({ nodeTag, publicUrl }: CheckedOptions, access: Access): Hono {
  return new Hono().get('/topology', (c) => {
    const database = access.topologyOf(c)
    const asked = new URL(c.req.url)
    const url = publicUrl ?? `${asked.protocol}//${c.req.header('Host') ?? asked.host}`
    return answer({
      Promotables: [],
      Nodes: [{ Url: url, ClusterTag: nodeTag, ServerRole: 'Member', Database: database }],
      Etag: 1,
    })
  })
}
