/**
 * Every answer. Guarantees that no cache keeps it, and that no browser guesses its type. JSON goes
 * out under RavenDB's content type.
 */

// As a plain object, Node writes it as it is. `Headers` would be made and taken apart again.
const ALWAYS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }
const JSON_TYPE = 'application/json; charset=utf-8'

export const answer = (
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response => answerText(JSON.stringify(body), JSON_TYPE, status, headers)

/** @param type as `Content-Type` */
export const answerText = (
  text: string,
  type: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  new Response(text, { status, headers: { ...ALWAYS, ...headers, 'Content-Type': type } })

export const answerNothing = (status: 204 | 304 | 404): Response =>
  new Response(null, { status, headers: ALWAYS })
