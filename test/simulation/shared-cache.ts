/**
 * The word `cache`: for a while, a cache between the devices and their server ignores the query of
 * addresses, as a rule of a CDN or a service worker can. It keeps each answer to a GET by its path,
 * and gives it to everybody. Claims of our own server are POST, which no cache keeps.
 */
import type { Reply, Request } from './network.js'
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

const LONGEST_MS = 300_000
/** Of so many letters the capitals are drawn: no two claims get the same ones by chance. */
const LETTERS = 29

export class SharedCache {
  readonly #answers = new Map<string, { reply: Reply; href: string }>()

  /** The answer that it has, perhaps to the request of somebody else. */
  answer({ method, url }: Request): Reply | undefined {
    const kept = method === 'GET' ? this.#answers.get(url.pathname) : undefined
    return kept && { ...kept.reply, isOfAnother: kept.href !== url.href }
  }

  keep({ method, url }: Request, reply: Reply): void {
    if (method === 'GET' && reply.status < 300 && !this.#answers.has(url.pathname))
      this.#answers.set(url.pathname, { reply, href: url.href })
  }
}

export const cache: Word = {
  fits: (profile) => profile.authority === 'raven' || isOneLedger(profile),
  world: ({ authority, collections }) =>
    authority === 'raven'
      ? { collections: collections.map((tag) => tag.padEnd(LETTERS, tag)) }
      : {},
  happens({ gateway, scheduler, driver }, _, random) {
    if (gateway.cache) return
    gateway.cache = new SharedCache()
    const passed = random.between(1_000, LONGEST_MS)
    scheduler.post(driver, passed, 'the cache is empty', () => {
      gateway.cache = undefined
    })
  },
  heal({ gateway }) {
    gateway.cache = undefined
  },
}
