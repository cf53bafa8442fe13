/**
 * Listens once to each event of a signal or a Hilo, however many functions wait for it. An app may
 * pass one signal to all of its calls, and Node warns of a leak from the eleventh listener on.
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

/** The signal of another realm is no `instanceof AbortSignal`. */
export const isSignal = (value: unknown): value is AbortSignal =>
  typeof (value as AbortSignal | null)?.aborted === 'boolean' &&
  // One that nobody can leave alone again would hold up its caller.
  typeof (value as AbortSignal).removeEventListener === 'function'

export const onAbort = (signal: AbortSignal, run: () => void): (() => void) =>
  onEvent(signal, 'abort', run)
