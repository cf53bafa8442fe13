/** Releases collections in one call to the owner, so that few requests give all of them back. */
import type { fromFailure } from '../core/errors.js'
import type { PageLeases, PageLeasesContext } from './page-leases.js'
import type { Stock } from './stock.js'

/** `stock`: the page may hold numbers of it. */
export interface Used {
  pageLeases: PageLeases
  stock?: Stock
}

/**
 * Gives everything back that the page and the device hold.
 * @param failed makes the error: this file is loaded apart from the page's
 * @param ended aborted when nobody waits any more
 * @throws HiloError the first failure of a collection
 */
export async function release(
  all: readonly Used[],
  { page, link, newExchange }: Pick<PageLeasesContext, 'page' | 'link' | 'newExchange'>,
  failed: typeof fromFailure,
  ended?: AbortSignal,
): Promise<void> {
  const holders = all.map(({ stock, pageLeases }) => stock ?? pageLeases)
  try {
    await Promise.all(holders.map((each) => each.beginRelease()))
    const id = newExchange()
    const targets = all.map(({ pageLeases: { target } }) => target)
    const early = ended && { call: id, ended }
    const answers = await link.call('release', [targets, { page, id }], early)
    for (const [i, { view }] of answers.entries()) all[i]!.pageLeases.observe(view)
    for (const answer of answers) if ('failure' in answer) throw failed(answer.failure)
  } finally {
    for (const each of holders) each.endRelease()
  }
}
