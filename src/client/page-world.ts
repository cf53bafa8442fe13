/** A page's view of its realm. A `Hilo` of `offline-hilo/testing` brings a world of its own. */
export interface PageWorld {
  /** As the browser believes. */
  isOnline(): boolean
  isVisible(): boolean
  /** Milliseconds; only ever for pacing. */
  now(): number
  later(run: () => void, ms?: number): ReturnType<typeof setTimeout> | undefined
}

export const pageWorld: PageWorld = {
  isOnline: () => globalThis.navigator?.onLine !== false,
  // guard: H4 without a document a page counts as hidden
  isVisible: () => globalThis.document?.visibilityState === 'visible',
  now: () => performance.now(),
  later: (run, ms) => setTimeout(run, ms),
}
