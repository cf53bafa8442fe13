/**
 * The network between devices and servers: every request and every answer is a message that may be
 * lost, late, or arrive twice. Guarantees nothing. Counts by name what it did.
 */
import type { Gateway } from './gateway.js'
import type { Surroundings } from './realm.js'
import type { Actor, Scheduler } from './scheduler.js'

/** The one address of all nodes; each device reaches one of them. */
export const SERVER_URL = 'https://hilo.test'

export interface Request {
  method: string
  url: URL
  headers: Record<string, string>
  body: string | undefined
  /** Name of the device that sent it, for the records of a simulation only. */
  from: string
  /** The page or worker that sent it. */
  sender: string
  /** The node that its device reached when it was sent. */
  node: string
  /** The node that had answered the device's claims for the same collection last. */
  answeredBy: string | undefined
}

export interface Reply {
  status: number
  headers?: Record<string, string>
  body: string
  /** The ledger that has answered, for the records of a simulation only. */
  ledger?: string
  /** A cache gives it in place of the answer to this request. For the records, too. */
  isOfAnother?: boolean
}

export interface Server {
  sent?(request: Request): void
  /** The sender of the request has got this answer. */
  heard?(request: Request, reply: Reply): void
  /**
   * Runs the servers' side of one request as one step. Undefined: the connection is refused, or
   * dies before the answer.
   */
  handle(request: Request): Promise<Reply | undefined>
}

/** What a HiLo server says, and what a proxy says in front of one. */
const BUSY = JSON.stringify({ Type: 'TooManyRequests', Message: 'The server is busy.' })
const SORRY = '<h1>Sorry</h1>'

/** What a request needs of its device. */
type Link = Pick<Surroundings, 'name' | 'isOnline' | 'node' | 'offline' | 'disturbed'>

/** Probabilities per message. */
export interface NetworkFaults {
  loseRequest: number
  loseAnswer: number
  /** The request arrives a second time, later. */
  duplicate: number
  /** It takes seconds or minutes: longer than its sender waits, and perhaps than it lives. */
  late: number
  /** The server answers 503 with `Retry-After`. */
  busy: number
}

export const PERFECT_NETWORK: NetworkFaults = {
  loseRequest: 0,
  loseAnswer: 0,
  duplicate: 0,
  late: 0,
  busy: 0,
}

export class Network {
  faults: NetworkFaults = { ...PERFECT_NETWORK }
  /** By device: what its link loses without a word, while the other direction works. */
  readonly losing = new Map<string, 'requests' | 'answers'>()
  readonly #scheduler: Scheduler
  readonly #actor: Actor
  readonly #server: Server
  readonly #gateway: Gateway
  readonly #hit: (fault: string) => void
  /** By device and collection: the node whose answer was heard last. */
  readonly #answeredBy = new Map<string, string>()

  constructor(
    scheduler: Scheduler,
    actor: Actor,
    server: Server,
    gateway: Gateway,
    hit: (fault: string) => void,
  ) {
    this.#scheduler = scheduler
    this.#actor = actor
    this.#server = server
    this.#gateway = gateway
    this.#hit = hit
  }

  /** `fetch` of one page or worker. */
  fetchFor(
    sender: Actor,
    { name, isOnline, node, offline, disturbed }: Link,
  ): (
    url: string,
    init?: RequestInit,
  ) => Promise<Pick<Response, 'ok' | 'status' | 'text' | 'headers'>> {
    return (address, init = {}) =>
      new Promise((resolve, reject) => {
        const { signal } = init
        const url = new URL(address)
        const collection = `${name} ${url.searchParams.get('tag')?.toLowerCase()}`
        const request: Request = {
          method: init.method ?? 'GET',
          url,
          headers: { ...(init.headers as Record<string, string>) },
          body: init.body as string | undefined,
          from: name,
          sender: sender.name,
          node: node(),
          answeredBy: this.#answeredBy.get(collection),
        }
        if (signal?.aborted) return reject(signal.reason)
        signal?.addEventListener('abort', () => reject(signal.reason))
        const fail = () =>
          this.#scheduler.post(sender, 1, 'request fails', () =>
            reject(new TypeError('Failed to fetch')),
          )
        this.#server.sent?.(request)
        if (!isOnline()) {
          offline(request)
          disturbed()
          return void fail()
        }
        const hear = (reply: Reply) => {
          if (signal?.aborted) return
          this.#server.heard?.(request, reply)
          const granting = nodeIn(reply)
          if (granting) this.#answeredBy.set(collection, granting)
          resolve(toResponse(reply))
        }
        this.#send(request, {
          answer: (reply, delay) =>
            this.#scheduler.post(sender, delay, `hears ${reply.status}`, () => hear(reply)),
          fail,
          disturbed,
        })
      })
  }

  #send(
    request: Request,
    sender: { answer(reply: Reply, delay: number): void; fail(): void; disturbed(): void },
  ): void {
    const { random } = this.#scheduler
    const { faults } = this
    const isIdempotent =
      request.method === 'GET' ||
      request.method === 'POST' ||
      'If-Match' in request.headers ||
      'If-None-Match' in request.headers
    if (isIdempotent && random.chance(faults.duplicate)) {
      this.#hit('message duplicated')
      this.#deliver(request, this.#delay(true), () => {})
    }
    if (random.chance(faults.loseRequest)) {
      this.#hit('request lost')
      sender.disturbed()
      // In half of the losses the sender gets an error. In the others it gets no answer at all.
      if (random.chance(0.5)) sender.fail()
      return
    }
    const lost = this.losing.get(request.from)
    if (lost === 'requests') {
      this.#hit('only requests lost')
      sender.disturbed()
      return
    }
    const delay = () => {
      const isLate = random.chance(faults.late)
      if (isLate) sender.disturbed()
      return this.#delay(isLate)
    }
    this.#deliver(request, delay(), (reply) => {
      if (!isSound(reply) || lost) sender.disturbed()
      if (lost) return this.#hit('only answers lost')
      if (!reply) return sender.fail()
      if (random.chance(faults.loseAnswer)) {
        this.#hit('answer lost')
        sender.disturbed()
        if (random.chance(0.5)) sender.fail()
        return
      }
      sender.answer(reply, delay())
    })
  }

  #deliver(request: Request, delay: number, answered: (reply: Reply | undefined) => void): void {
    const route = request.url.pathname.split('/').at(-1)
    const details = this.#scheduler.trace ? ` ${describe(request)}` : ''
    const what = `${request.from}: ${request.method} ${route}${details}`
    this.#scheduler.post(this.#actor, delay, what, async () => {
      if (this.#scheduler.random.chance(this.faults.busy)) {
        this.#hit('server busy')
        const seconds = this.#scheduler.random.between(1, 20)
        return answered({
          status: 503,
          headers: { 'Retry-After': String(seconds) },
          body: seconds % 2 > 0 ? BUSY : SORRY,
        })
      }
      const early = this.#gateway.answer(request)
      if (early) return answered(early)
      const reply = await this.#server.handle(request)
      answered(reply && this.#gateway.pass(request, reply))
    })
  }

  #delay(isLate: boolean): number {
    const { random } = this.#scheduler
    if (!isLate) return random.between(1, 60)
    this.#hit('message late')
    return random.chance(0.5) ? random.between(1_000, 15_000) : random.between(15_000, 400_000)
  }
}

/** Neither a refusal, nor a page in HTML, nor the answer to another request. */
const isSound = (reply: Reply | undefined): boolean =>
  reply !== undefined &&
  reply.status < 300 &&
  reply.headers?.['Content-Type'] !== 'text/html' &&
  !reply.isOfAnother

/** The node that granted what the reply says: a cache may answer for another one. */
const nodeIn = ({ body, isOfAnother }: Reply): string | undefined =>
  isOfAnother ? undefined : /"ServerTag":"(\w+)"/.exec(body)?.[1]

/** A request, as a schedule prints it. */
const describe = ({ method, url: { pathname, searchParams }, body }: Request): string => {
  const isReturn = method === 'POST' && pathname.endsWith('/return')
  const values = new Map<string, unknown>(
    isReturn ? Object.entries(JSON.parse(body!)) : searchParams,
  )
  return ['tag', 'lastBatchSize', 'lastMax', 'end', 'last', 'claim', 'token']
    .flatMap((name) => (values.has(name) ? `${name}=${String(values.get(name)).slice(0, 24)}` : []))
    .join(' ')
}

function toResponse({ status, headers = {}, body }: Reply) {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    status,
    ok: status >= 200 && status < 300,
    text: async () => body,
    headers: { get: (name: string) => lower.get(name.toLowerCase()) ?? null } as Headers,
  }
}
