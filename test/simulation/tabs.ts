/** What the tabs of one device share besides storage: Web Locks and broadcast channels. */
import { copyData } from './copy-data.js'
import type { Actor, Scheduler } from './scheduler.js'

interface LockRequest {
  actor: Actor
  grant(): void
}

/** `navigator.locks` of one device. A dead holder loses its lock; a frozen one keeps it. */
export class LockHost {
  readonly #scheduler: Scheduler
  readonly #queues = new Map<string, LockRequest[]>()

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  /** The API for one page or worker. */
  forActor(actor: Actor): {
    request: <T>(
      name: string,
      options: { signal?: AbortSignal },
      run: () => Promise<T>,
    ) => Promise<T>
  } {
    return {
      request: (name, { signal }, run) =>
        new Promise((resolve, reject) => {
          const queue = this.#queues.get(name) ?? []
          this.#queues.set(name, queue)
          let isGranted = false
          const leave = () => {
            const at = queue.indexOf(request)
            if (at < 0) return
            queue.splice(at, 1)
            if (at === 0) this.#grantFirst(queue)
          }
          const request: LockRequest = {
            actor,
            grant: () => {
              isGranted = true
              run().then(resolve, reject).finally(leave)
            },
          }
          actor.onDeath.push(leave)
          signal?.addEventListener('abort', () => {
            if (isGranted) return
            leave()
            reject(new DOMException('The request was aborted.', 'AbortError'))
          })
          queue.push(request)
          if (queue.length === 1) this.#grantFirst(queue)
        }),
    }
  }

  #grantFirst(queue: LockRequest[]): void {
    const first = queue[0]
    if (first)
      this.#scheduler.post(
        first.actor,
        0,
        'lock granted',
        () => queue[0] === first && first.grant(),
      )
  }
}

/** The broadcast channels of one device. */
export class BroadcastHost {
  readonly #scheduler: Scheduler
  readonly #channels = new Set<{ name: string; actor: Actor; hear(data: unknown): void }>()

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  isOpen(actor: Actor): boolean {
    return [...this.#channels].some((channel) => channel.actor === actor)
  }

  /** The `BroadcastChannel` class of one page or worker. */
  forActor(actor: Actor) {
    const channels = this.#channels
    const scheduler = this.#scheduler
    return class {
      onmessage: ((event: { data: unknown }) => void) | undefined
      readonly #entry: { name: string; actor: Actor; hear(data: unknown): void }

      constructor(name: string) {
        this.#entry = { name, actor, hear: (data) => this.onmessage?.({ data }) }
        channels.add(this.#entry)
        actor.onDeath.push(() => channels.delete(this.#entry))
      }

      postMessage(data: unknown): void {
        for (const other of channels) {
          if (other === this.#entry || other.name !== this.#entry.name) continue
          const copy = copyData(data)
          scheduler.post(other.actor, scheduler.random.between(0, 5), 'broadcast', () =>
            other.hear(copy),
          )
        }
      }

      close(): void {
        channels.delete(this.#entry)
      }
    }
  }
}
