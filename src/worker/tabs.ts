/**
 * Messages between the pages of one device: a page's view of the device, which pages live, and
 * requests to park. They never decide a number's owner. A page that misses a message shows an old
 * status, or does not park when another page has no id left.
 */
import type { SharedView } from '../device/contract.js'

export interface Tabs {
  /** Sends the other pages this page's view of a collection. For display only. */
  notify(collection: string, view: SharedView): void
  /** Asks which pages live. @returns has this page been heard since? */
  askWhoLives(): (page: string) => boolean
  /** True until a message of another page arrives. */
  isAlone(): boolean
  /**
   * Asks those of these pages that live to park numbers of a collection that they do not need.
   * Resolves when each has answered, or after a second. Who has not answered by then is asked again
   * only once it is heard. Resolves with `false` when there is nobody to ask.
   */
  askToPark(collection: string, pages: ReadonlySet<string>): Promise<boolean>
  close(): void
}

export interface TabsCallbacks {
  /** Another page has changed the device's numbers. */
  onChange(collection: string, view: unknown): void
  /** Parks numbers that this page does not need. */
  parkExcess(collection: string): Promise<unknown>
}

/**
 * A page whose worker runs answers well within this time. A frozen page does not answer, but it
 * parked before it froze.
 */
export const PAGE_ANSWER_MS = 2_000

/** Shorter, because a caller waits for it to learn that no id is left. */
const PARK_ANSWER_MS = 1_000

/** Each message also shows that its page lives. */
interface Message {
  page: string
  type: 'hello' | 'here' | 'changed' | 'park' | 'parked'
  collection: string
  /** Of a page of another version, it may be anything. */
  view?: unknown
}

/**
 * @param name of the storage that the pages share
 * @returns undefined where there is no `BroadcastChannel`, or the browser forbids it
 */
export function openTabs(
  name: string,
  page: string,
  { onChange, parkExcess }: TabsCallbacks,
): Tabs | undefined {
  const channel = openChannel(name)
  if (!channel) return undefined
  let questions = 0
  /** How many questions had been asked when a page was heard last. */
  const alive = new Map<string, number>()
  /** Asked to park, and not heard since. They may live: their storage may be busy. */
  const slow = new Set<string>()
  /** Each is called when a page has parked. */
  const awaited = new Set<(collection: string, page: string) => void>()
  const send = (type: Message['type'], collection = '', view?: SharedView) =>
    channel.postMessage({ page, type, collection, view } satisfies Message)
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    const { page: other, type, collection, view } = Object(data) as Message
    // Another script of the site may use the channel's name.
    // guard: H15 a message of somebody else is no page
    if (typeof other !== 'string' || typeof collection !== 'string') return
    alive.set(other, questions)
    slow.delete(other)
    if (type === 'hello') send('here')
    if (view) onChange(collection, view)
    if (type === 'parked') for (const each of awaited) each(collection, other)
    if (type === 'park')
      parkExcess(collection)
        .finally(() => send('parked', collection))
        // It answers whether it parked or failed; a page that was closed meanwhile cannot answer.
        .catch(() => {})
  }
  send('hello')
  return {
    notify: (collection, view) => send('changed', collection, view),
    askWhoLives() {
      const question = ++questions
      send('hello')
      // guard: H3 a page that spoke before it was asked may be dead
      return (other) => other === page || (alive.get(other) ?? 0) >= question
    },
    isAlone: () => alive.size === slow.size,
    askToPark: (collection, pages) =>
      new Promise((resolve) => {
        const silent = new Set([...pages].filter((other) => alive.has(other) && !slow.has(other)))
        if (silent.size === 0) return resolve(false)
        const parked = (parkedOf: string, other: string) => {
          if (parkedOf === collection) silent.delete(other)
          if (silent.size === 0) resolve(true)
        }
        awaited.add(parked)
        setTimeout(() => {
          awaited.delete(parked)
          // guard: H16 a page that is slow to park is not dead
          for (const other of silent) slow.add(other)
          resolve(true)
        }, PARK_ANSWER_MS)
        send('park', collection)
      }),
    close: () => channel.close(),
  }
}

/** Firefox has the class also where cookies are blocked, and throws when one is made. */
function openChannel(name: string): BroadcastChannel | undefined {
  // guard: H18 no channel is no reason to stop
  try {
    const channel: BroadcastChannel & { unref?(): void } = new BroadcastChannel(name)
    // In Node nothing here keeps a process from ending.
    channel.unref?.()
    return channel
  } catch {
    return undefined
  }
}
