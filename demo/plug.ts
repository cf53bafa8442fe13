/**
 * Pulls the plug on this page: it is gone without a word to anybody, as when its process is killed.
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
