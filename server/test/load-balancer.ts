/**
 * A load balancer as they are in front of servers: it asks for health again and again, parts the
 * requests among those that are ready, and keeps its connections alive.
 */
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

const HEALTH_INTERVAL_MS = 25

export interface LoadBalancer {
  url: string
  /** Resolves when the server is, or is not, ready. */
  sees(server: string, isReady: boolean): Promise<void>
  close(): void
}

export async function startLoadBalancer(servers: readonly string[]): Promise<LoadBalancer> {
  const agent = new Agent({ keepAlive: true })
  const ready = new Set<string>()
  const waiting = new Set<() => void>()
  let turn = 0

  const ask = (url: string, incoming?: IncomingMessage) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { method = 'GET', headers = {} } = incoming ?? {}
      const outgoing = httpRequest(url, { agent, method, headers }, resolve)
      outgoing.on('error', reject)
      if (incoming) incoming.pipe(outgoing)
      else outgoing.end()
    })

  async function look(server: string): Promise<void> {
    const status = await ask(`${server}/healthz`).then(
      (answer) => answer.resume().statusCode,
      () => undefined,
    )
    if (status === 200) ready.add(server)
    else ready.delete(server)
    for (const check of waiting) check()
  }

  const looking = servers.map((server) => setInterval(() => look(server), HEALTH_INTERVAL_MS))
  const http = createServer((incoming, response) => {
    const able = servers.filter((server) => ready.has(server))
    const server = able[turn++ % able.length]
    if (!server) return void response.writeHead(502).end('no server is ready')
    ask(server + incoming.url, incoming).then(
      (answer) => answer.pipe(response.writeHead(answer.statusCode!)),
      (error) => response.writeHead(502).end(`${server}: ${error}`),
    )
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    sees: (server, isReady) =>
      new Promise((resolve) => {
        const check = () => {
          if (ready.has(server) !== isReady) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    close() {
      for (const each of looking) clearInterval(each)
      agent.destroy()
      http.closeAllConnections()
      http.close()
    },
  }
}
