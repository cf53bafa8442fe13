/**
 * The authorities that an app brings itself: a store of documents with conditional writes, and a
 * textbook counter. Neither knows who has what.
 */
import { documentSource, nextHiSource } from '../../src/source/index.js'
import type { Checker } from './checker.js'
import type { Reply, Request } from './network.js'
import { ofTenant, type Tenant } from './tenants.js'

const MAX_LO = 32
/** The version in the write that finds out whether the store honours conditions. */
const NO_VERSION = '"offline-hilo-probe"'

/**
 * The sources, as an app would make them. `fetch` is that of the page which runs. The pages of a
 * tenant lie in a folder of their own, so a relative address means the documents of that tenant.
 */
export const SOURCES = {
  document: (tenant: Tenant) =>
    tenant
      ? documentSource({ url: 'documents/{collection}' })
      : documentSource({
          url: 'https://store.test/documents/{collection}',
          key: 'store.test',
          fetch: (url, init) => fetch(url, init),
        }),
  nextHi: (tenant: Tenant) =>
    nextHiSource({
      key: `counter.test ${tenant}`,
      nextHi: async (collection) =>
        Number(await ask(`https://counter.test/${tenant}/counter/${collection}`)),
      maxLo: MAX_LO,
      firstId: 1,
    }),
}

async function ask(url: string): Promise<string> {
  const response = await fetch(url, { method: 'POST' })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const text = await response.text()
  if (!/^\d+$/.test(text)) throw new Error(`${url} answered ${text}`)
  return text
}

export class DocumentModel {
  readonly #checker: Checker
  readonly #hit: (what: string) => void
  readonly #stored = new Map<string, { max: number; body: string }>()

  constructor(checker: Checker, hit: (what: string) => void) {
    this.#checker = checker
    this.#hit = hit
  }

  async handle({ method, url, headers, body = '', from }: Request): Promise<Reply> {
    const tag = collectionIn(url)
    const stored = this.#stored.get(tag)
    const max = stored?.max
    const etag = stored && `"${max}"`
    if (method === 'GET')
      return stored
        ? { status: 200, headers: { ETag: etag! }, body: stored.body }
        : { status: 404, body: '' }
    const isMet =
      'If-Match' in headers
        ? headers['If-Match'] === etag
        : headers['If-None-Match'] === '*' && max === undefined
    if (!isMet) {
      if ('If-Match' in headers && headers['If-Match'] !== NO_VERSION)
        this.#hit('lost a race for a document')
      return { status: 412, body: '' }
    }
    this.#hit('moved a document')
    const { Max } = JSON.parse(body) as { Max: number }
    this.#stored.set(tag, { max: Max, body })
    this.#checker.granted(`${tag}-`, from, (max ?? 0) + 1, Max)
    return { status: 200, body: '' }
  }
}

export class CounterModel {
  readonly #checker: Checker
  readonly #hit: (what: string) => void
  readonly #hi = new Map<string, number>()

  constructor(checker: Checker, hit: (what: string) => void) {
    this.#checker = checker
    this.#hit = hit
  }

  async handle({ url, from }: Request): Promise<Reply> {
    const tag = collectionIn(url)
    const hi = this.#hi.get(tag) ?? 0
    this.#hit('took a hi')
    this.#hi.set(tag, hi + 1)
    this.#checker.granted(`${tag}-`, from, Math.max(1, hi * MAX_LO), hi * MAX_LO + MAX_LO - 1)
    return { status: 200, body: String(hi) }
  }
}

/** The checker's name for a document: `orders@north` for `/north/documents/orders`. */
function collectionIn({ pathname }: URL): string {
  const [tag = '', , tenant = ''] = pathname.split('/').reverse()
  return ofTenant(tag, tenant as Tenant)
}
