/**
 * A RavenDB that this server claims ranges from, by RavenDB's protocol. Any node may grant a range,
 * and only that node may get it back. Guarantees that an answer which makes no sense grants
 * nothing, and that a return is sent once: in RavenDB, a second one could free other numbers.
 */
import { z } from 'zod'
import { claimSize } from '../../../../src/core/sizes.js'
import { CounterUnusable, UpstreamUnavailable } from '../../ledger/errors.js'
import type { CollectionKey, UpstreamRange } from '../../ledger/ledger.js'
import { publicUrl } from '../../ledger/options.js'
import type { UpstreamAddress } from './options.js'
import { readTls, send } from './request.js'

/** `node` is the tag of the node that granted it. */
type NewRange = Omit<UpstreamRange, keyof CollectionKey>

export interface UpstreamClient {
  /**
   * Claims `count` numbers or more, all above `lastMax`. If the answer is lost, they are a gap.
   * @throws UpstreamUnavailable when no node answers; CounterUnusable when it answers something
   * else
   */
  claim(count: number, lastMax: number): Promise<NewRange>
  /** Is the node still part of the cluster, so that it can be given a range back? */
  knows(node: string): Promise<boolean>
  /** Gives `last + 1` to `end` back. To be called once per range, when nobody uses it any more. */
  giveBack(node: string, end: number, last: number): Promise<void>
  /** @throws as `claim` */
  check(): Promise<void>
}

interface Node {
  url: string
  tag: string
}

const topology = z.object({
  Nodes: z.array(z.object({ Url: publicUrl, ClusterTag: z.string() })).min(1),
})
/** Whole numbers up to 2^53−1: beyond, JavaScript cannot count. */
const grant = z
  .object({
    Low: z.int().min(1),
    High: z.int(),
    ServerTag: z.string().nullish(),
    LastSize: z.int().nullish(),
    LastRangeAt: z.string().nullish(),
  })
  .refine(({ Low, High }) => Low <= High)

/** @throws Error when a file of the certificate cannot be read */
export function openUpstream({
  url,
  database,
  tag,
  certificate,
  ca,
}: UpstreamAddress): UpstreamClient {
  const tls = readTls({ certificate, ca })
  /** Addresses that may know the cluster's nodes. Any of them may be down. */
  let urls = [url]
  let nodes: Node[] | undefined
  let last: { size: number; at: string } | undefined

  function hilo(node: string, action: string, query: Record<string, string | number>): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) parameters.set(name, String(value))
    return `${node}/databases/${encodeURIComponent(database)}/hilo/${action}?${parameters}`
  }

  async function askForNodes(url: string): Promise<Node[]> {
    const { status, body } = await send(
      'GET',
      `${url}/topology?name=${encodeURIComponent(database)}`,
      tls,
    )
    if (status !== 200) throw refused(url, status, body)
    const { data } = topology.safeParse(parse(body))
    if (!data)
      throw new CounterUnusable(
        `${url} is no RavenDB: its topology cannot be read. It began: ` +
          `${JSON.stringify(body.slice(0, 100))}.`,
      )
    return data.Nodes.map((node) => ({ url: node.Url, tag: node.ClusterTag }))
  }

  /** The cluster's nodes, first the one that answered. */
  async function findNodes(): Promise<Node[]> {
    if (nodes) return nodes
    let failure: unknown
    for (const known of urls) {
      try {
        const found = await askForNodes(known)
        urls = [...new Set([url, ...found.map((node) => node.url)])]
        nodes = found.toSorted((a, b) => Number(b.url === known) - Number(a.url === known))
        return nodes
      } catch (error) {
        if (!(error instanceof UpstreamUnavailable)) throw error
        failure = error
      }
    }
    throw failure
  }

  return {
    async claim(count, lastMax) {
      const size = claimSize(0, 0, count, last)
      let failure: unknown
      for (const node of await findNodes()) {
        try {
          const { status, body } = await send(
            'GET',
            hilo(node.url, 'next', { tag, ...size, identityPartsSeparator: '/', lastMax }),
            tls,
          )
          if (status !== 201 && status !== 200) throw refused(node.url, status, body)
          const { data } = grant.safeParse(parse(body))
          if (!data)
            throw new CounterUnusable(
              `${node.url} granted no range that can be counted: ` +
                `${JSON.stringify(body.slice(0, 200))}.`,
            )
          if (data.Low <= lastMax)
            throw new CounterUnusable(
              `${node.url} granted ${data.Low} to ${data.High}, but up to ${lastMax} may be ` +
                'in use: it went backwards, or does not know lastMax. Nothing was taken.',
            )
          last =
            data.LastSize && data.LastRangeAt
              ? { size: data.LastSize, at: data.LastRangeAt }
              : undefined
          return { low: data.Low, high: data.High, node: data.ServerTag || node.tag }
        } catch (error) {
          // Each node counts for itself, so the next one may grant. The cluster may have changed:
          // it is asked for its nodes again.
          nodes = undefined
          if (!(error instanceof UpstreamUnavailable)) throw error
          failure = error
        }
      }
      throw failure
    },

    knows: async (node) => (await findNodes()).some((other) => other.tag === node),

    async giveBack(node, end, last) {
      const found = (await findNodes()).find((other) => other.tag === node)
      if (found) await send('PUT', hilo(found.url, 'return', { tag, end, last }), tls)
    },

    async check() {
      nodes = undefined
      await findNodes()
    },
  }
}

/** RavenDB answers so on a node that the database is not on any more. */
const MOVED = 410

function refused(url: string, status: number, body: string): Error {
  const { Message } = Object(parse(body)) as { Message?: unknown }
  const said = typeof Message === 'string' ? `: ${Message.slice(0, 300)}` : ''
  if (status === 403 || status === 401)
    return new CounterUnusable(
      `The upstream ${url} answered ${status}${said}. Give \`certificate\` a client certificate ` +
        'that may use the database.',
    )
  if (/DatabaseDoesNotExist/.test(body))
    return new CounterUnusable(
      `The upstream ${url} has no such database${said}. Correct \`database\`.`,
    )
  if (status >= 500 || status === MOVED)
    return new UpstreamUnavailable(`The upstream ${url} answered ${status}${said}.`)
  return new CounterUnusable(`The upstream ${url} answered ${status}${said}.`)
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
