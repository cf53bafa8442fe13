/**
 * Every answer. Guarantees that no cache keeps it, and that no browser guesses its type. JSON goes
 * out under RavenDB's content type.
 */

// As a plain object, Node writes it as it is. `Headers` would be made and taken apart again.
const ALWAYS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }
const ALWAYS_WITH_JSON = { ...ALWAYS, 'Content-Type': 'application/json; charset=utf-8' }

export const answer = (
  body: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: headers ? { ...headers, ...ALWAYS_WITH_JSON } : ALWAYS_WITH_JSON,
  })

/** @param type as `Content-Type` */
export const answerText = (text: string, type: string): Response =>
  new Response(text, { headers: { ...ALWAYS, 'Content-Type': type } })

export const answerNothing = (status: 204 | 304 | 404): Response =>
  new Response(null, { status, headers: ALWAYS })
