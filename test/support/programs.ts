/**
 * Real servers that some tests run in front of ours, or in its place, and tools that check us: used
 * where they are installed, got by scripts/prepare-tests.ts.
 */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Program {
  name: string
  title: string
  debianPackages: string[]
  /** Argument with which it prints its version and ends. */
  probe: string
  /** Its path, `undefined` when it is not there. */
  find(): string | undefined
}

/** Debian keeps servers where only root looks. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

const program = (
  name: string,
  title: string,
  debianPackages: string[],
  probe: string,
): Program => ({
  name,
  title,
  debianPackages,
  probe,
  find: () => FOLDERS.map((folder) => join(folder, name)).find(isExecutable),
})

export const nginx = program('nginx', 'nginx', ['nginx-light'], '-v')
export const caddy = program('caddy', 'Caddy', ['caddy'], 'version')
/** A store with conditional writes: its WebDAV compares ETags. */
export const lighttpd = program('lighttpd', 'lighttpd', ['lighttpd', 'lighttpd-mod-webdav'], '-v')

export const systemdAnalyze = program('systemd-analyze', 'systemd', ['systemd'], '--version')
export const pgbouncer = program('pgbouncer', 'PgBouncer', ['pgbouncer'], '--version')

export const jq = program('jq', 'jq', ['jq'], '--version')
export const openssl = program('openssl', 'OpenSSL', ['openssl'], 'version')

/** With NSS's `certutil`, by which Chromium on Linux is told whom to trust. */
export const mkcert = program('mkcert', 'mkcert', ['mkcert', 'libnss3-tools'], '-version')

export const etcd = program('etcd', 'etcd', ['etcd-server'], '--version')

export const etcdctl = program('etcdctl', "etcd's client", ['etcd-client'], 'version')

export const redis = program('redis-server', 'Redis', ['redis-server'], '--version')
export const mariadb = program('mariadbd', 'MariaDB', ['mariadb-server-core'], '--version')
/** MariaDB's script `mariadb-install-db` needs it, and says itself only that it fails. */
export const mariadbDefaults = program(
  'my_print_defaults',
  "MariaDB's client",
  ['mariadb-client-core'],
  '--version',
)

const patroniProgram = program(
  'patroni',
  'Patroni',
  ['patroni', 'python3-psycopg2', 'postgresql-15', 'etcd-server'],
  '--version',
)
/** Patroni, when PostgreSQL's programs and etcd are there for it. */
export const patroni: Program = {
  ...patroniProgram,
  find: () => (etcd.find() && postgresFolder() ? patroniProgram.find() : undefined),
}

/** Debian's PostgreSQL, with all of its programs. */
export const postgresFolder = (): string | undefined =>
  ['15', '16', '17', '18']
    .map((version) => `/usr/lib/postgresql/${version}/bin`)
    .find((folder) => isExecutable(join(folder, 'initdb')))

const php = program('php', 'Doctrine', ['php-cli', 'php-pgsql', 'php-doctrine-orm'], '--version')
/** PHP, when Doctrine is there for it. */
export const doctrine: Program = {
  ...php,
  find: () => (isReadable('/usr/share/php/Doctrine/ORM/autoload.php') ? php.find() : undefined),
}

export const PROGRAMS = [
  jq,
  openssl,
  mkcert,
  nginx,
  caddy,
  lighttpd,
  pgbouncer,
  etcd,
  etcdctl,
  patroni,
  doctrine,
  systemdAnalyze,
  redis,
  mariadb,
  mariadbDefaults,
]

/** A test's title says what it is left out for. */
export const unless = ({ title, find }: Program): string =>
  find() ? '' : ` (left out: ${title} is not installed)`

export const isExecutable = (path: string): boolean => isAllowed(path, constants.X_OK)

const isReadable = (path: string): boolean => isAllowed(path, constants.R_OK)

function isAllowed(path: string, access: number): boolean {
  try {
    accessSync(path, access)
    return true
  } catch {
    return false
  }
}
