/**
 * An etcd cluster, by the JSON gateway that each of its nodes has. Guarantees that every answer
 * went through a majority of the nodes: every request is a transaction, and none is serializable.
 */
import { z } from 'zod'
import { UpstreamUnavailable } from '../../ledger/ledger-errors.js'
import { upstreamFailure } from '../upstream/authority.js'
import { parsed, readTls, send } from '../upstream/request.js'
import type { Etcd } from './region-options.js'

/** Only if these values stand under these keys. Undefined: nothing does. */
type Conditions = Readonly<Record<string, string | undefined>>

type Operation =
  | { put: string; value: string }
  | { get: string }
  /** All keys below one that ends in `/`. */
  | { below: string }

interface Entry {
  key: string
  value: string
  /** How often the key was written. */
  version: number
}

interface Committed {
  /** Did the conditions hold? If not, `entries` are those of `otherwise`. */
  isDone: boolean
  /** The values of the keys, in the order of the operations. Undefined: there was no such key. */
  entries: (Entry | undefined)[]
  /** Names the cluster. A restored backup gets another name, unless the operator keeps the old. */
  cluster: string
  /** Of the whole store; it only grows. */
  revision: number
}

export interface EtcdClient {
  /**
   * One transaction: `then` if the conditions hold, else `otherwise`.
   * @throws UpstreamUnavailable when no node answers, and nobody knows whether it happened;
   * CounterUnusable when etcd refuses
   */
  commit(conditions: Conditions, then: Operation[], otherwise: Operation[]): Promise<Committed>
}

/** A node, and until when it is waited for. */
interface Asked {
  node: string
  signal: AbortSignal
}

/** etcd writes whole numbers as text, and leaves out fields that are zero, empty or false. */
const whole = z.coerce.number().int().default(0)
const entry = z.object({ key: z.string(), value: z.string().default(''), version: whole })
const answer = z.object({
  header: z.object({ cluster_id: z.string(), revision: whole }),
  succeeded: z.boolean().default(false),
  responses: z
    .array(
      z.object({
        response_put: z.object({ prev_kv: entry.optional() }).optional(),
        response_range: z.object({ kvs: z.array(entry).default([]) }).optional(),
      }),
    )
    .default([]),
})

/**
 * For all nodes together: a claim waits no longer than that. A node that hangs takes its share, and
 * leaves the others theirs.
 */
const DEADLINE_MS = 4_000

const UNAUTHENTICATED = 401
/** A user was changed since, and the session's token (a JWT) says so. Etcd answers 400. */
const IS_SESSION_OLD = /revision of auth store is old/

/** @throws Error when a file of the certificate cannot be read */
export function openEtcd({ etcd, user, password, ca, certificate }: Etcd): EtcdClient {
  const tls = readTls({ ca, certificate })
  /** The node that answered last comes first. */
  let nodes = [...etcd]
  let session: string | undefined

  async function post({ node, signal }: Asked, path: string, body: object) {
    const { status, body: text } = await send('POST', `${node}/v3/${path}`, {
      ...tls,
      signal,
      headers: {
        'Content-Type': 'application/json',
        ...(session !== undefined && { Authorization: session }),
      },
      body: JSON.stringify(body),
    })
    return { status, text }
  }

  async function signIn(asked: Asked): Promise<void> {
    session = undefined
    const { status, text } = await post(asked, 'auth/authenticate', { name: user, password })
    if (status !== 200) throw etcdRefusal(asked.node, status, text)
    session = z.object({ token: z.string() }).parse(JSON.parse(text)).token
  }

  async function ask(asked: Asked, body: object): Promise<Committed> {
    if (user !== undefined && session === undefined) await signIn(asked)
    let { status, text } = await post(asked, 'kv/txn', body)
    if (user !== undefined && (status === UNAUTHENTICATED || IS_SESSION_OLD.test(text))) {
      await signIn(asked)
      ;({ status, text } = await post(asked, 'kv/txn', body))
    }
    if (status !== 200) throw etcdRefusal(asked.node, status, text)
    return readAnswer(asked.node, text)
  }

  return {
    async commit(conditions, then, otherwise) {
      const body = {
        compare: Object.entries(conditions).map(toCompare),
        success: then.map(toRequest),
        failure: otherwise.map(toRequest),
      }
      const deadline = performance.now() + DEADLINE_MS
      let failure: unknown
      for (const [i, node] of [...nodes].entries()) {
        const share = (deadline - performance.now()) / (etcd.length - i)
        const signal = AbortSignal.timeout(Math.max(0, Math.floor(share)))
        try {
          const committed = await ask({ node, signal }, body)
          nodes = [node, ...nodes.filter((other) => other !== node)]
          return committed
        } catch (error) {
          if (!(error instanceof UpstreamUnavailable)) throw error
          failure = error
        }
      }
      throw failure
    },
  }
}

const encode = (text: string): string => Buffer.from(text).toString('base64')
const decode = (text: string): string => Buffer.from(text, 'base64').toString()

const toCompare = ([key, value]: [string, string | undefined]) =>
  value === undefined
    ? { key: encode(key), target: 'CREATE', result: 'EQUAL', create_revision: '0' }
    : { key: encode(key), target: 'VALUE', result: 'EQUAL', value: encode(value) }

function toRequest(operation: Operation) {
  if ('put' in operation) {
    const { put, value } = operation
    return { request_put: { key: encode(put), value: encode(value), prev_kv: true } }
  }
  if ('get' in operation) return { request_range: { key: encode(operation.get) } }
  // `0` is the character after `/`.
  const end = operation.below.replace(/\/$/, '0')
  return { request_range: { key: encode(operation.below), range_end: encode(end) } }
}

function readAnswer(node: string, text: string): Committed {
  const json = parsed(text)
  const { data } = answer.safeParse(json)
  if (!data)
    throw upstreamFailure({
      code: 'invalid-response',
      message:
        `${node} is no etcd: its answer cannot be read. It began: ` +
        `${JSON.stringify(text.slice(0, 100))}.`,
      ...(json === undefined && { noAnswer: true }),
    })
  return {
    isDone: data.succeeded,
    entries: data.responses.flatMap(({ response_put, response_range }) => {
      const found = response_range?.kvs ?? [response_put?.prev_kv]
      if (found.length === 0) return [undefined]
      return found.map(
        (each) => each && { ...each, key: decode(each.key), value: decode(each.value) },
      )
    }),
    cluster: data.header.cluster_id,
    revision: data.header.revision,
  }
}

function etcdRefusal(node: string, status: number, text: string): Error {
  const json = parsed(text)
  const { message = text } = Object(json) as { message?: string }
  return upstreamFailure({
    code: 'server-refused',
    status,
    ...(json === undefined && { noAnswer: true }),
    message:
      `etcd at ${node} answered ${status}: ${String(message).slice(0, 300)}. ` +
      'Check the addresses, user, password and certificate, if it goes on answering so.',
  })
}
