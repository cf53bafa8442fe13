/**
 * Calls back when the page is hidden, shown or closed, or when the network comes or goes. Without a
 * document (in a worker or a service worker) it reports only the network.
 */

export interface LifecycleCallbacks {
  /** The page cannot be seen any more and may be killed without another word (H4). */
  hidden(): void
  /** The page closes: the browser waits for no promise that starts here (H5). */
  exit(): void
  /** The page is seen again, possibly after a stay in the back/forward cache (H6). */
  shown(): void
  /** The browser believes that the network is back, or gone. Hints. */
  online(): void
  offline(): void
}

/** @param signal stops listening */
export function watchLifecycle(
  { hidden, exit, shown, online, offline }: LifecycleCallbacks,
  signal: AbortSignal,
): void {
  const on = (target: Partial<EventTarget>, type: string, run: (event: Event) => void) =>
    target.addEventListener?.(type, run, { signal })
  on(globalThis as Partial<EventTarget>, 'online', online)
  on(globalThis as Partial<EventTarget>, 'offline', offline)
  if (typeof document === 'undefined') return
  on(document, 'freeze', hidden)
  on(document, 'resume', shown)
  on(document, 'visibilitychange', () =>
    document.visibilityState === 'hidden' ? hidden() : shown(),
  )
  on(window, 'pagehide', exit)
  on(window, 'pageshow', (event) => (event as PageTransitionEvent).persisted && shown())
}
