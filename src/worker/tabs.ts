/**
 * What the pages of one device tell each other: what they have seen of the device, who lives, and
 * what they can spare. Decides nothing about numbers: whoever hears nothing shows an old status,
 * and loses the chance to get or bring back a lease.
 */
import type { Seen } from '../core/contract.js'

export interface Tabs {
  /** For display only. */
  announce(collection: string, seen: Seen): void
  isAlive(page: string): boolean
  /** Was no other page heard yet? */
  isAlone(): boolean
  /**
   * Has the other living ones of these pages park what they do not need of a collection. Resolves
   * when each has, or counts as dead for not answering; with whether there was anyone to ask.
   */
  askToSpare(collection: string, pages: ReadonlySet<string>): Promise<boolean>
  close(): void
}

export interface TabsCallbacks {
  seen(collection: string, seen: Seen): void
  /** Parks what this page does not need. */
  spare(collection: string): Promise<unknown>
}

/** A page whose worker lives has said so well within this; a frozen one has parked before. */
export const ROLL_CALL_MS = 2_000

/** A caller waits for it, to be told that no id is left. */
const SPARE_MS = 1_000

/** Each says that its page lives, too. */
interface Message {
  page: string
  says: 'who?' | 'here' | 'seen' | 'spare!' | 'spared'
  collection: string
  seen?: Seen | undefined
}

/** @param name of the storage that the pages share */
export function openTabs(name: string, page: string, { seen: hear, spare }: TabsCallbacks): Tabs {
  const alive = new Set<string>()
  /** By collection: hears who has spared. */
  const awaited = new Map<string, (page: string) => void>()
  const channel = new BroadcastChannel(name)
  const say = (says: Message['says'], collection = '', seen?: Seen) =>
    channel.postMessage({ page, says, collection, seen } satisfies Message)
  channel.onmessage = ({
    data: { page: other, says, collection, seen },
  }: MessageEvent<Message>) => {
    alive.add(other)
    if (says === 'who?') say('here')
    if (seen) hear(collection, seen)
    if (says === 'spared') awaited.get(collection)?.(other)
    if (says === 'spare!')
      spare(collection)
        .finally(() => say('spared', collection))
        // Whether it could or not; and a page that is closed meanwhile says nothing.
        .catch(() => {})
  }
  say('who?')
  return {
    announce: (collection, seen) => say('seen', collection, seen),
    isAlive: (other) => other === page || alive.has(other),
    isAlone: () => alive.size === 0,
    askToSpare: (collection, pages) =>
      new Promise((resolve) => {
        const silent = new Set([...pages].filter((other) => alive.has(other)))
        if (silent.size === 0) return resolve(false)
        awaited.set(collection, (other) => {
          silent.delete(other)
          if (silent.size === 0) resolve(true)
        })
        setTimeout(() => {
          for (const other of silent) alive.delete(other)
          resolve(true)
        }, SPARE_MS)
        say('spare!', collection)
      }),
    close: () => channel.close(),
  }
}
