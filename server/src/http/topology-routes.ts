/**
 * `GET /topology?name=` tells RavenDB's clients where the database is: on one node, at the address
 * that they asked. So every name that reaches the server works.
 */
import { Hono } from 'hono'
import { checkDatabase } from './access.js'
import type { CheckedOptions } from './options.js'

export function topologyRoutes({ databases, nodeTag, publicUrl }: CheckedOptions): Hono {
  return new Hono().get('/topology', (c) => {
    const database = checkDatabase(c.req.query('name') ?? '', databases, 503)
    const asked = new URL(c.req.url)
    const url = publicUrl ?? `${asked.protocol}//${c.req.header('Host') ?? asked.host}`
    return c.json({
      Promotables: [],
      Nodes: [{ Url: url, ClusterTag: nodeTag, ServerRole: 'Member', Database: database }],
      Etag: 1,
    })
  })
}
