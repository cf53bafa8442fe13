/**
 * The service worker, seen from the page: it keeps the pages for offline visits, and can send what
 * waits once every tab is closed.
 */

export interface KeptPages {
  /**
   * Lets the browser send what waits when the network is back, even without a tab. Where it cannot,
   * the next visit sends.
   */
  sendLater(): void
  /** Takes the newer version, and reloads. */
  update(): void
}

interface SyncManager {
  register(tag: string): Promise<void>
}

/** @param updated there is a newer version of the desk */
export function keepPages(updated: () => void): KeptPages {
  const { serviceWorker } = navigator
  // Not on plain-http pages, nor in some private windows: then the desk needs the server to load.
  const registered = serviceWorker?.register('/service-worker.js').catch(() => undefined)
  let waiting: ServiceWorker | undefined
  registered?.then((registration) => {
    const look = () => {
      const found = registration?.waiting
      // The first one of all is no newer version: it waits for nobody, though in WebKit it may have
      // taken over by the time this is heard.
      if (!found || found === waiting || !registration.active) return
      waiting = found
      updated()
    }
    look()
    registration?.addEventListener('updatefound', () =>
      registration.installing?.addEventListener('statechange', look),
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
