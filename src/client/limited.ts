/**
 * A call that the caller can end early, by a signal or a timeout. Guarantees that it then rejects
 * at once.
 */
import type { HiloError } from '../core/errors.js'
import type { onAbort } from '../core/on-abort.js'
import type { CallOptions } from './waiters.js'

/** Timers with more milliseconds than 31 bits hold go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The modules that the page has already: this file is loaded apart from them. */
interface Limited {
  HiloError: typeof HiloError
  onAbort: typeof onAbort
  /** The call's timeout begins then. */
  startedAt: number
}

/**
 * @param meaning a sentence for the error: the effect of the early end on the caller
 * @param run gets a signal that is aborted when the call ends early
 */
export async function limited<T>(
  { HiloError, onAbort, startedAt }: Limited,
  { timeout = Number.POSITIVE_INFINITY, signal }: CallOptions,
  meaning: string,
  run: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw aborted(HiloError, signal, meaning)
  const ending = new AbortController()
  const ended = new Promise<never>((_, reject) =>
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason)),
  )
  const abort = () => ending.abort(aborted(HiloError, signal!, meaning))
  const late = () =>
    ending.abort(new HiloError('timeout', `The call took longer than ${timeout} ms. ${meaning}`))
  const ignoreSignal = signal && onAbort(signal, abort)
  const timer =
    timeout < Number.POSITIVE_INFINITY
      ? setTimeout(late, Math.min(timeout - (performance.now() - startedAt), MAX_TIMER_MS))
      : undefined
  try {
    return await Promise.race([untilStored(run, ending.signal), ended])
  } finally {
    clearTimeout(timer)
    ignoreSignal?.()
  }
}

/** The outcome of a step that hung is not known; the next run reads it. */
async function untilStored<T>(run: (ended: AbortSignal) => Promise<T>, ended: AbortSignal) {
  for (;;)
    try {
      return await run(ended)
    } catch (error) {
      const { code, retryAfter } = error as HiloError
      // guard: H18 a storage that hung is asked again by reserve and release
      if (code !== 'storage-failed' || !retryAfter || ended.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, retryAfter))
      ended.throwIfAborted()
    }
}

/** @param meaning a sentence for the error: the effect on the caller */
const aborted = (ErrorClass: typeof HiloError, signal: AbortSignal, meaning: string): HiloError =>
  new ErrorClass('aborted', `The call was aborted by its signal. ${meaning}`, {
    cause: signal.reason,
  })
