/**
 * Messages of the next version, which is made up: it says more in each object of a message than
 * this one.
 */

/** What only the next version knows of. */
export const MORE = { NextVersion: { since: 2, of: ['it'] } }

function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore)
  if (typeof value !== 'object' || value === null) return value
  // A message's maps, by a name of somebody's, get no other name.
  const all = Object.entries(value).map(([key, each]) => [
    key,
    /^ledgers$/i.test(key) ? each : withMore(each),
  ])
  return { ...Object.fromEntries(all), ...MORE }
}

const said = (text: string) => (text === '' ? text : JSON.stringify(withMore(JSON.parse(text))))

export interface Versions {
  isClientNew: boolean
  isServerNew: boolean
}

export const VERSIONS: [title: string, Versions][] = [
  ['a server of the next version', { isClientNew: false, isServerNew: true }],
  ['a client of the next version', { isClientNew: true, isServerNew: false }],
]

/** @param reach as `fetch` */
export const between =
  (
    { isClientNew, isServerNew }: Versions,
    reach: (input: string, init: RequestInit) => Promise<Response>,
  ) =>
  async (input: string, init: RequestInit = {}): Promise<Response> => {
    const { body, headers } = init
    const url = new URL(input)
    if (isClientNew) url.searchParams.set('nextVersion', '2')
    const answer = await reach(String(url), {
      ...init,
      ...(isClientNew && { headers: { ...headers, 'x-next-version': '2' } }),
      ...(isClientNew && typeof body === 'string' && { body: said(body) }),
    })
    const text = await answer.text()
    const { status, headers: given } = answer
    return new Response((isServerNew ? said(text) : text) || null, { status, headers: given })
  }
