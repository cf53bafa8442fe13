/**
 * Requests and answers between a simulated network and the server's handler: as much of `fetch`'s
 * classes as Hono and the handler use. Node's own classes stream each body, and that takes longer
 * than all that the server does with it.
 */

type Init = Record<string, string> | Iterable<[string, string]>

/** Names in lower case, in the order in which they came. */
export class SimulatedHeaders {
  readonly #values = new Map<string, string>()

  constructor(init: Init = {}) {
    for (const [name, value] of Symbol.iterator in init ? init : Object.entries(init))
      this.append(name, value)
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase())
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), value)
  }

  append(name: string, value: string): void {
    const before = this.get(name)
    this.set(name, before === null ? value : `${before}, ${value}`)
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase())
  }

  entries(): Iterator<[string, string]> & Iterable<[string, string]> {
    return this.#values.entries()
  }

  [Symbol.iterator]() {
    return this.entries()
  }
}

export class SimulatedRequest {
  readonly headers: SimulatedHeaders
  readonly #body: string | undefined

  constructor(
    readonly method: string,
    readonly url: string,
    headers: Record<string, string>,
    body: string | undefined,
  ) {
    this.headers = new SimulatedHeaders(headers)
    this.#body = body
    // What a browser adds.
    if (body === undefined) return
    this.headers.set('Content-Length', String(body.length))
    if (!this.headers.has('Content-Type'))
      this.headers.set('Content-Type', 'text/plain;charset=UTF-8')
  }

  get body(): string | null {
    return this.#body ?? null
  }

  async text(): Promise<string> {
    return this.#body ?? ''
  }
}

export class SimulatedResponse {
  readonly status: number
  readonly headers: SimulatedHeaders
  readonly #body: string | null

  constructor(
    body: string | null = null,
    { status = 200, headers }: { status?: number; headers?: Init } = {},
  ) {
    this.#body = body
    this.status = status
    this.headers = new SimulatedHeaders(headers)
    if (body !== null && !this.headers.has('Content-Type'))
      this.headers.set('Content-Type', 'text/plain;charset=UTF-8')
  }

  async text(): Promise<string> {
    return this.#body ?? ''
  }
}
