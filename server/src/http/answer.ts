/** Every answer with a body: JSON, under RavenDB's content type. */
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

const CONTENT_TYPE = 'application/json; charset=utf-8'

export const answer = (
  c: Context,
  body: unknown,
  status: ContentfulStatusCode = 200,
  headers: Readonly<Record<string, string>> = {},
): Response => c.body(JSON.stringify(body), status, { ...headers, 'Content-Type': CONTENT_TYPE })
