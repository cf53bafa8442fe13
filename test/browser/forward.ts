/**
 * Passes a request on to another server, and the answer back. If no answer comes, it cuts the
 * connection, as without a network.
 */
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'

/** @param answered called with the status of the answer */
export function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  server: string,
  answered = (_: number) => {},
): void {
  const passed = request(
    new URL(asked.url!, server),
    { method: asked.method!, headers: asked.headers },
    (response) => {
      answered(response.statusCode!)
      answer.writeHead(response.statusCode!, response.headers)
      pipeline(response, answer, cut)
    },
  )
  // Either side may go away in the middle of anything.
  const cut = (error: unknown) => error && answer.destroy()
  passed.once('error', cut)
  pipeline(asked, passed, cut)
}
