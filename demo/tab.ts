/**
 * This tab's name, new for every page, and its messages to the desk's other tabs. They say only
 * that something changed.
 */

/** Letters and digits that nobody confuses when somebody reads them aloud. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'

export const tabName = Array.from(
  crypto.getRandomValues(new Uint8Array(3)),
  (byte) => ALPHABET[byte % ALPHABET.length],
).join('')

export interface OtherTabs {
  notify(): void
}

/** Without BroadcastChannel a tab sees the other tabs' orders when it is loaded again. */
export function listenToTabs(changed: () => void): OtherTabs {
  if (typeof BroadcastChannel === 'undefined') return { notify() {} }
  const channel = new BroadcastChannel('order-desk')
  channel.onmessage = changed
  return { notify: () => channel.postMessage('changed') }
}
