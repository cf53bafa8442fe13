/**
 * The words `cache` and `repeating-relay`: for a while, something between the devices and their
 * server keeps each answer by the path of its address, and gives it to everybody. A cache ignores
 * the query, as a rule of a CDN or a service worker can, and keeps answers to GET. A relay that is
 * broken, or hostile, repeats an answer to a claim now and then, or to a write of a document,
 * whatever was asked.
 */
import type { Reply, Request } from './network.js'
import { isOneLedger } from './profile.js'
import type { Word } from './words.js'

const LONGEST_MS = 300_000
/** Of so many letters the capitals are drawn: no two claims get the same ones by chance. */
const LETTERS = 29

export class SharedCache {
  readonly #method: 'GET' | 'POST' | 'PUT'
  /** Does it answer this time? */
  readonly #answers: () => boolean
  readonly #kept = new Map<string, { reply: Reply; asked: string }>()

  constructor(method: 'GET' | 'POST' | 'PUT', answers = () => true) {
    this.#method = method
    this.#answers = answers
  }

  /** The answer that it has, perhaps to the request of somebody else. */
  answer(request: Request): Reply | undefined {
    const kept = request.method === this.#method && this.#kept.get(request.url.pathname)
    if (!kept || !this.#answers()) return undefined
    return { ...kept.reply, isOfAnother: kept.asked !== textOf(request) }
  }

  keep(request: Request, reply: Reply): void {
    const { pathname } = request.url
    if (request.method === this.#method && reply.status < 300 && !this.#kept.has(pathname))
      this.#kept.set(pathname, { reply, asked: textOf(request) })
  }
}

const textOf = ({ url, body = '' }: Request): string => url.href + body

export const cache: Word = {
  fits: (profile) => profile.authority === 'raven' || isOneLedger(profile),
  world: ({ authority, collections }) =>
    authority === 'raven'
      ? { collections: collections.map((tag) => tag.padEnd(LETTERS, tag)) }
      : {},
  happens({ gateway, scheduler, driver }, _, random) {
    if (gateway.cache) return
    gateway.cache = new SharedCache('GET')
    const passed = random.between(1_000, LONGEST_MS)
    scheduler.post(driver, passed, 'the cache is empty', () => {
      gateway.cache = undefined
    })
  },
  heal({ gateway }) {
    gateway.cache = undefined
  },
}

export const repeatingRelay: Word = {
  fits: ({ authority, counts, nodes }) =>
    authority === 'document' ||
    (authority === 'own' && counts === 'its ledger' && nodes.length === 1),
  // To a device, the answer to another request is none, as the page of a portal.
  world: ({ faults }) => ({ faults: new Set([...faults, 'portals']) }),
  happens({ gateway, scheduler, driver, profile }, _, random) {
    if (gateway.cache) return
    const method = profile.authority === 'document' ? 'PUT' : 'POST'
    gateway.cache = new SharedCache(method, () => random.chance(0.5))
    const passed = random.between(1_000, LONGEST_MS)
    scheduler.post(driver, passed, 'the relay repeats nothing any more', () => {
      gateway.cache = undefined
    })
  },
  heal({ gateway }) {
    gateway.cache = undefined
  },
}
