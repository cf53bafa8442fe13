/**
 * Kills this page: it ends without `pagehide` and without a message, as when its process is killed.
 */

const LAST_WORDS = ['visibilitychange', 'pagehide', 'freeze', 'beforeunload', 'unload'] as const

export function pullThePlug(): void {
  const silence = (event: Event) => event.stopImmediatePropagation()
  for (const type of LAST_WORDS) {
    window.addEventListener(type, silence, { capture: true })
    document.addEventListener(type, silence, { capture: true })
  }
  location.reload()
}
