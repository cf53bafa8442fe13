/**
 * As much of `EventTarget` and `AbortController` as pages use. Listeners are kept until they are
 * removed, as in a browser: Node's forget some that the garbage collector has come across.
 */

type Listener = ((event: never) => void) | { handleEvent(event: never): void }

export class SimTarget {
  readonly #listeners = new Map<string, Set<Listener>>()

  addEventListener(type: string, listener: Listener, options?: { signal?: AbortSignal }): void {
    const signal = options?.signal
    if (signal?.aborted) return
    const listeners = this.#listeners.get(type)
    if (listeners) listeners.add(listener)
    else this.#listeners.set(type, new Set([listener]))
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener))
  }

  removeEventListener(type: string, listener: Listener): void {
    this.#listeners.get(type)?.delete(listener)
  }

  emit(type: string, detail: object = {}): void {
    const event = { type, target: this, ...detail } as never
    ;(this as unknown as Record<string, ((event: never) => void) | undefined>)[`on${type}`]?.(event)
    const listeners = this.#listeners.get(type)
    for (const listener of [...(listeners ?? [])])
      if (typeof listener === 'function') listener(event)
      else listener.handleEvent(event)
  }
}

export class SimAbortSignal extends SimTarget {
  aborted = false
  reason: unknown

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  static timeout(ms: number): SimAbortSignal {
    const signal = new SimAbortSignal()
    setTimeout(
      () => abort(signal, new DOMException('The operation timed out.', 'TimeoutError')),
      ms,
    )
    return signal
  }
}

export class SimAbortController {
  readonly signal = new SimAbortSignal()

  abort(reason: unknown = new DOMException('This operation was aborted', 'AbortError')): void {
    abort(this.signal, reason)
  }
}

function abort(signal: SimAbortSignal, reason: unknown): void {
  if (signal.aborted) return
  signal.aborted = true
  signal.reason = reason
  signal.emit('abort')
}
