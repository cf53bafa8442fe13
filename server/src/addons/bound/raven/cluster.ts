/**
 * The nodes of a RavenDB that this server claims ranges from. Any node may grant a range, and only
 * that node may get it back. Requests and answers are those of the browser package. Guarantees that
 * an answer which makes no sense grants nothing, and that a return is sent once: in RavenDB, a
 * second one could free other numbers.
 */
import { z } from 'zod'
import { HiloError, toFailure } from '../../../../../src/core/errors.js'
import type { Target } from '../../../../../src/device/contract.js'
import { mark } from '../../../../../src/device/mark.js'
import { nextUrl, returnRequest } from '../../../../../src/device/requests.js'
import { readGrant } from '../../../../../src/source/raven-source.js'
import type { CollectionKey, UpstreamRange } from '../../../ledger/ledger.js'
import { CounterUnusable, UpstreamUnavailable } from '../../../ledger/ledger-errors.js'
import { publicUrl } from '../../../ledger/option-checks.js'
import { upstreamFailure } from '../../upstream/authority.js'
import { parsed, readTls, send } from '../../upstream/request.js'
import type { RavenAddress } from './raven-options.js'

/** `node` is the tag of the node that granted it. */
type NewRange = Omit<UpstreamRange, keyof CollectionKey> & { node: string }

export interface RavenCluster {
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
/** @throws Error when a file of the certificate cannot be read */
export function openRaven({ url, database, tag, ...files }: RavenAddress): RavenCluster {
  const tls = readTls(files)
  const target: Target = { database, collection: tag, separator: '/', reserve: 0 }
  /** Addresses that may know the cluster's nodes. Any of them may be down. */
  let urls = [url]
  let nodes: Node[] | undefined

  async function get(node: string, address: string): Promise<string> {
    const { status, body } = await send('GET', address, tls)
    if (status !== 201 && status !== 200) throw ravenRefusal(node, status, body)
    return body
  }

  async function askForNodes(url: string): Promise<Node[]> {
    const body = await get(url, `${url}/topology?name=${encodeURIComponent(database)}`)
    const { data } = topology.safeParse(parsed(body))
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

  async function claimFrom(node: Node, count: number, lastMax: number): Promise<NewRange> {
    // RavenDB knows no ids of claims. With one, another server of ours could grant numbers that
    // came back to it, and this server gives ranges back without a token.
    const marked = mark(tag, count, crypto.randomUUID())
    const body = await get(node.url, nextUrl(node.url, target, marked, lastMax))
    const { range } = readGrant(body, node.url, target, marked)
    const { from: low, to: high, serverTag } = range
    if (low <= lastMax)
      throw new CounterUnusable(
        `${node.url} granted ${low} to ${high}, but up to ${lastMax} may be in use: it went ` +
          'backwards, or does not know lastMax. Nothing was taken.',
      )
    return { low, high, node: serverTag || node.tag }
  }

  return {
    async claim(count, lastMax) {
      let failure: unknown
      for (const node of await findNodes()) {
        try {
          return await claimFrom(node, count, lastMax)
        } catch (error) {
          // Each node counts for itself, so the next one may grant. The cluster may have changed:
          // it is asked for its nodes again.
          nodes = undefined
          failure =
            error instanceof HiloError
              ? upstreamFailure(toFailure(error, 'invalid-response'))
              : error
          if (!(failure instanceof UpstreamUnavailable)) throw failure
        }
      }
      throw failure
    },

    knows: async (node) => (await findNodes()).some((other) => other.tag === node),

    async giveBack(node, end, last) {
      const found = (await findNodes()).find((other) => other.tag === node)
      if (!found) return
      const range = { from: last + 1, to: end, prefix: '', serverTag: node }
      const { method, url } = returnRequest(found.url, target, range)
      await send(method, url, tls)
    },

    async check() {
      nodes = undefined
      await findNodes()
    },
  }
}

/** RavenDB answers so on a node that the database is not on any more. */
const MOVED = 410

function ravenRefusal(url: string, status: number, body: string): Error {
  const { Message } = Object(parsed(body)) as { Message?: unknown }
  const said = typeof Message === 'string' ? `: ${Message.slice(0, 300)}` : ''
  const message = `The upstream ${url} answered ${status}${said}.`
  const code = 'server-refused'
  if (status === 403 || status === 401)
    return upstreamFailure({
      code,
      status,
      message: `${message} Give \`certificate\` a client certificate that may use the database.`,
    })
  if (/DatabaseDoesNotExist/.test(body))
    return new CounterUnusable(
      `The upstream ${url} has no such database${said}. Correct \`database\`.`,
    )
  if (status === MOVED) return new UpstreamUnavailable(message)
  return upstreamFailure({ code, status, message })
}
