/**
 * The servers of one PostgreSQL database, of which one is the primary. A URL may name several, as
 * PostgreSQL's own clients take it: `postgres://user@a:5432,b:5432/hilo`.
 */

/** Without a host, the socket of this machine is asked: `postgres:///hilo?host=/run/postgresql`. */
const SEVERAL = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/

/** What `target_session_attrs` may say: connections have to write. */
const WRITES = ['read-write', 'primary', 'any']

/**
 * A URL for each server.
 * @throws Error when the URL cannot be read, or asks for connections that cannot write
 */
export function addressesIn(databaseUrl: string): string[] {
  const [, before, hosts, after] = SEVERAL.exec(databaseUrl) ?? []
  const each = hosts?.split(',') ?? []
  const isGap = each.length > 1 && each.includes('')
  if (each.length === 0 || isGap)
    throw new Error('has to be a URL like postgres://user:password@host/name')
  return each.map((host) => {
    const address = before + host + after
    if (!URL.canParse(address))
      throw new Error('has to be a URL like postgres://user:password@host/name')
    const url = new URL(address)
    const wanted = url.searchParams.get('target_session_attrs') ?? 'read-write'
    if (!WRITES.includes(wanted))
      throw new Error(`has target_session_attrs=${wanted}; the server has to write: read-write`)
    url.searchParams.delete('target_session_attrs')
    return url.href
  })
}

/** Hosts and database, without user and password. */
export const placeOf = (databaseUrl: string): string =>
  addressesIn(databaseUrl)
    .map((address) => new URL(address))
    .map(({ host, pathname }) => host + pathname)
    .join()

/** Which of the servers new connections lead to. */
export class Addresses {
  readonly #all: readonly string[]
  #at = 0

  constructor(databaseUrl: string) {
    this.#all = addressesIn(databaseUrl)
  }

  get current(): string {
    return this.#all[this.#at]!
  }

  get count(): number {
    return this.#all.length
  }

  /** The server at the address does not answer, or is no primary: the next one's turn. */
  leave(address: string): void {
    if (address === this.current) this.#at = (this.#at + 1) % this.count
  }
}
