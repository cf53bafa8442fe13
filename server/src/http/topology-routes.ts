/**
 * `GET /topology?name=` tells RavenDB's clients where the database is: on one node, at the address
 * that they asked. So every name that reaches the server works.
 */
import { Hono } from 'hono'
import type { Access } from './access.js'
import { answer } from './answer.js'
import type { CheckedOptions } from './options.js'

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
