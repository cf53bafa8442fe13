/**
 * A RavenDB to claim from: nodes that count each for itself, know no claim ids and no tokens, and
 * honour a return as often as it comes.
 */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { Checker } from '../../test/simulation/checker.js'
import { RavenModel } from '../../test/simulation/raven-model.js'

export interface RavenNode {
  tag: string
  url: string
  /** Method, path and query of each request that was not for the topology. */
  requests: string[]
  /** Answers in place of the node; undefined: the node answers. */
  instead: ((path: string) => { status: number; body?: string } | undefined) | undefined
  stop(): Promise<void>
}

export interface RavenCluster {
  nodes: RavenNode[]
  /** Complains of a number that is granted while somebody holds it. */
  checker: Checker
}

/** @param tls of every node: with client certificates, as RavenDB has it */
export async function startRaven(
  tags: readonly string[] = ['A'],
  tls?: ServerOptions,
): Promise<RavenCluster> {
  const checker = new Checker()
  const nodes: RavenNode[] = []
  for (const tag of tags) nodes.push(await startNode(tag, checker, nodes, tls))
  return { nodes, checker }
}

async function startNode(
  tag: string,
  checker: Checker,
  cluster: readonly RavenNode[],
  tls: ServerOptions | undefined,
): Promise<RavenNode> {
  const model = new RavenModel(tag, checker, Date.now)
  const listener: RequestListener = async (request, response) => {
    const url = new URL(request.url!, 'http://raven.test')
    if (url.pathname !== '/topology') node.requests.push(`${request.method} ${request.url}`)
    const instead = node.instead?.(request.url!)
    if (instead) return response.writeHead(instead.status).end(instead.body)
    if (url.pathname === '/topology') {
      const Nodes = cluster.map((other) => ({
        Url: other.url,
        ClusterTag: other.tag,
        ServerRole: 'Member',
        Database: 'Shop',
      }))
      return response.end(JSON.stringify({ Nodes, Etag: 1 }))
    }
    const { status, body } = await model.handle({
      method: request.method!,
      url,
      from: String(request.headers['x-device'] ?? 'server'),
    } as never)
    response.writeHead(status).end(body)
  }
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const node: RavenNode = {
    tag,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    instead: undefined,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  onTestFinished(node.stop)
  return node
}
