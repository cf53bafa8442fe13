/** What the tests ask of pages and say of ids. */

/** The number of an id of `orders`. NaN: it is no such id. */
export const numberOf = (id: string): number => Number(/^orders\/(\d+)-A$/.exec(id)?.[1])

/** @throws Error when one of them is no id of `orders`, or came twice */
export function expectDistinct(ids: readonly string[]): void {
  const seen = new Set<string>()
  for (const id of ids) {
    if (!(numberOf(id) >= 1)) throw new Error(`${JSON.stringify(id)} is no id of orders`)
    if (seen.has(id)) throw new Error(`${id} was handed out twice`)
    seen.add(id)
  }
}

/** These run in a page. */
export const nextId = () => window.hilo.nextId('orders')
export const nextIds = (count: number) => window.hilo.nextIds('orders', count)
export const status = () => window.hilo.status()
export const available = () => window.hilo.status('orders').available

/**
 * If no page got the answer to a claim, the next claim gets it. Until then only the server knows of
 * its range.
 */
export const askAgain = () =>
  window.hilo.reserve('orders', window.hilo.status('orders').available + 1)

/**
 * Resolves when the page has the file that gives ids back, and what exceeds this reserve is set
 * aside. A page that is left before leaves all that to the next page.
 */
export const readyToGiveBack = (reserve: number) => window.hilo.reserve('orders', reserve)

/**
 * Runs in a page with `reserve: 0`. Is no request under way, and are all free numbers set aside for
 * a page to give back, which has loaded the file for that? A page that closes earlier leaves them
 * to the next page.
 */
export async function isAllOffered(): Promise<boolean> {
  // As `readyToGiveBack`, which does not exist in the page.
  await window.hilo.reserve('orders', 0)
  const of = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve) =>
      Object.assign(request, { onsuccess: () => resolve(request.result) }),
    )
  const db = await of((await window.home()).open('offline-hilo'))
  const [record] = await of(db.transaction('collections').objectStore('collections').getAll())
  db.close()
  return !record.checkIn && !record.claim && record.ranges.length === 0
}
