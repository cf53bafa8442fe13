/**
 * The address of a PostgreSQL database. Guarantees that it is one: a server that chose among
 * several could take an old primary for the right one.
 */

const POSTGRES = /^postgres(?:ql)?:\/\//
const HOSTS = /^[a-z]+:\/\/(?:[^/?]*@)?([^@/?]*)/

/**
 * Without a host, the socket of this machine is asked: `postgres:///hilo?host=/run/postgresql`.
 * @throws Error when the URL cannot be read, or names several servers
 */
export function addressIn(databaseUrl: string): URL {
  const [, hosts = ''] = HOSTS.exec(databaseUrl) ?? []
  // guard: H31 a server does not choose among databases
  if (hosts.includes(','))
    throw new Error(
      'names several servers. Give one address that leads to the primary, as HAProxy, PgBouncer ' +
        'or a provider of databases has one',
    )
  if (!POSTGRES.test(databaseUrl) || !URL.canParse(databaseUrl))
    throw new Error('has to be a URL like postgres://user:password@host/name')
  return new URL(databaseUrl)
}

/** Host and database, without user and password. */
export function placeOf(databaseUrl: string): string {
  const { host, pathname } = addressIn(databaseUrl)
  return host + pathname
}
