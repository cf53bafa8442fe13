/**
 * Messages between a page and its worker: ports, a `MessageChannel`, and a `Worker` whose every
 * message is an event of its receiver. Guarantees the order of one port's messages, and that what
 * crosses is a copy.
 */
import { copyData } from './copy-data.js'
import { type Actor, Queue, type Scheduler } from './scheduler.js'

type Listener = (event: { data: unknown; origin: string }) => void

/**
 * Comlink says so when the garbage collector found a proxy: no simulation may depend on when that
 * is.
 */
const isRelease = (message: unknown): boolean =>
  (message as { type?: string } | null)?.type === 'RELEASE'

export class Port {
  peer!: Port
  /** Whoever holds this end. */
  actor: Actor
  /** What it was sent. */
  readonly queue = new Queue()
  readonly #scheduler: Scheduler
  readonly #listeners = new Set<Listener>()

  constructor(scheduler: Scheduler, actor: Actor) {
    this.#scheduler = scheduler
    this.actor = actor
  }

  postMessage(message: unknown): void {
    if (isRelease(message)) return
    const { peer } = this
    const data = copyData(message, (port) => {
      if (!(port instanceof Port))
        throw new DOMException('It could not be cloned.', 'DataCloneError')
      port.actor = peer.actor
      return port
    })
    const delay = this.#scheduler.random.chance(0.1) ? this.#scheduler.random.between(1, 30) : 0
    this.#scheduler.post(peer.actor, delay, 'message', () => peer.deliver(data), peer.queue)
  }

  deliver(data: unknown): void {
    for (const listener of [...this.#listeners]) listener({ data, origin: '' })
  }

  addEventListener(_type: string, listener: Listener): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_type: string, listener: Listener): void {
    this.#listeners.delete(listener)
  }

  start(): void {}
  close(): void {}
}

export function createChannel(scheduler: Scheduler, actor: Actor): { port1: Port; port2: Port } {
  const port1 = new Port(scheduler, actor)
  const port2 = new Port(scheduler, actor)
  port1.peer = port2
  port2.peer = port1
  return { port1, port2 }
}

/** What a page sees of its worker. */
export class SimWorker {
  readonly #port: Port
  readonly #terminate: () => void
  readonly #errorListeners: ((event: { message: string }) => void)[] = []

  constructor(port: Port, terminate: () => void) {
    this.#port = port
    this.#terminate = terminate
  }

  addEventListener(
    type: string,
    listener: Listener & ((event: { message: string }) => void),
  ): void {
    if (type === 'message') this.#port.addEventListener(type, listener)
    else if (type === 'error') this.#errorListeners.push(listener)
  }

  removeEventListener(type: string, listener: Listener): void {
    this.#port.removeEventListener(type, listener)
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }

  terminate(): void {
    this.#terminate()
  }

  fail(message: string): void {
    for (const listener of this.#errorListeners) listener({ message })
  }
}
