/**
 * Many listeners of one signal. An app may pass the same signal to each of its calls, and Node
 * takes more than ten listeners of a signal for a leak, and warns. So a signal gets one listener.
 */
class Listeners extends Set<() => void> {
  handleEvent(): void {
    for (const run of this) run()
  }
}

const listening = new WeakMap<AbortSignal, Listeners>()

/**
 * @param run is called when the signal is aborted; each call needs a function of its own
 * @returns stops listening: Deno keeps a process alive while somebody listens to a signal
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const listeners = listening.get(signal) ?? new Listeners()
  listening.set(signal, listeners.add(run))
  // The same object is added once.
  signal.addEventListener('abort', listeners)
  return () => {
    listeners.delete(run)
    if (listeners.size === 0) signal.removeEventListener('abort', listeners)
  }
}
