/**
 * Finds pages and workers that ask a server again before the time that it has named
 * (`Retry-After`). What a proxy has named in its place may end sooner. A page or worker that has
 * got that answer must wait. A page that is loaded anew cannot know of it. Nor can another tab, or
 * another instance in the same page.
 */
import type { Reply, Request } from './network.js'

export class Pauses {
  readonly #now: () => number
  readonly #complain: (what: string) => void
  /** By sender, route and collection. */
  readonly #until = new Map<string, number>()
  /** Pages with several instances or clients: one cannot know what another one was told. */
  readonly #shared = new Set<string>()

  constructor(now: () => number, complain: (what: string) => void) {
    this.#now = now
    this.#complain = complain
  }

  heard(request: Request, { status, headers = {}, body }: Reply): void {
    const seconds = Number(headers['Retry-After'] ?? headers['retry-after'])
    if (status !== 503 || !(seconds > 0) || !body.startsWith('{')) return
    for (const what of askedFor(request)) this.#until.set(what, this.#now() + seconds * 1_000)
  }

  /** Another instance or client begins in this page, and an earlier one may not have ended. */
  begun(page: string): void {
    this.#shared.add(page)
  }

  sent(request: Request): void {
    if (this.#shared.has(request.sender)) return
    for (const what of askedFor(request))
      if (this.#now() < (this.#until.get(what) ?? 0))
        this.#complain(`${what} is sent again before the time that the server has named`)
  }
}

/**
 * What a request asks for; a check-in is for tokens, and names no collection. A tag in the query
 * has a case that was drawn for this claim. In a body each spelling is a collection of its own.
 */
function askedFor({ sender, url, body }: Request): string[] {
  if (!url.pathname.endsWith('/next')) return []
  const { collections = [] } = body === undefined ? {} : JSON.parse(body)
  const drawn = url.searchParams.get('tag')?.toLowerCase() ?? []
  return [drawn, collections.map(tagOf)].flat(2).map((tag) => `${sender}: a claim of ${tag}`)
}

const tagOf = ({ tag }: { tag: string }): string => tag
