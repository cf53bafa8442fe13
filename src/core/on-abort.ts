/**
 * Many listeners of one signal, or of one Hilo. An app may pass the same signal to each of its
 * calls, and Node takes more than ten listeners for a leak, and warns. So each gets one listener.
 */
class Listeners extends Set<() => void> {
  handleEvent(): void {
    for (const run of this) run()
  }
}

const listening = new WeakMap<EventTarget, Map<string, Listeners>>()

/**
 * @param run is called at each such event; each call needs a function of its own
 * @returns stops listening: Deno keeps a process alive while somebody listens to a signal
 */
export function onEvent(target: EventTarget, type: string, run: () => void): () => void {
  const types = listening.get(target) ?? new Map<string, Listeners>()
  listening.set(target, types)
  const listeners = types.get(type) ?? new Listeners()
  types.set(type, listeners.add(run))
  // The same object is added once.
  target.addEventListener(type, listeners)
  return () => {
    listeners.delete(run)
    if (listeners.size === 0) target.removeEventListener(type, listeners)
  }
}

export const onAbort = (signal: AbortSignal, run: () => void): (() => void) =>
  onEvent(signal, 'abort', run)
