/**
 * The page's side of the service worker. The service worker stores the pages for offline visits,
 * and can send waiting orders after every tab is closed.
 */

export interface KeptPages {
  /**
   * Asks the browser to send waiting orders when the network is back, even without a tab. Where the
   * browser cannot, the next visit sends them.
   */
  sendLater(): void
  /** Starts the newer version and reloads. */
  update(): void
}

interface SyncManager {
  register(tag: string): Promise<void>
}

/** @param updated there is a newer version of the desk */
export function keepPages(updated: () => void): KeptPages {
  const { serviceWorker } = navigator
  // Plain-http pages and some private windows have none: there the desk needs the server to load.
  const registered = serviceWorker?.register('/service-worker.js').catch(() => undefined)
  let waiting: ServiceWorker | undefined
  registered?.then((registration) => {
    const refresh = () => {
      const found = registration?.waiting
      // The very first service worker is no newer version. In WebKit it may already be active when
      // this event comes.
      if (!found || found === waiting || !registration.active) return
      waiting = found
      updated()
    }
    refresh()
    registration?.addEventListener('updatefound', () =>
      registration.installing?.addEventListener('statechange', refresh),
    )
  })
  return {
    sendLater() {
      registered
        ?.then((registration) =>
          (registration as { sync?: SyncManager } | undefined)?.sync?.register('orders'),
        )
        .catch(() => {})
    },
    update() {
      serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true })
      waiting?.postMessage('take over')
    },
  }
}
