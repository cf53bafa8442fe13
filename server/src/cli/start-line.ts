/**
 * The log's lines at the start: which version serves from where, with which settings; and the
 * faults that an operator should mend although the server runs. Guarantees that a setting is shown
 * only if it is listed here.
 */
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { placeOf } from '../addons/postgres/postgres-address.js'
import type { ScopedToken } from '../http/tokens.js'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import type { Settings } from '../settings.js'
import { SQLITE_FILE } from '../sql/schema.js'

export interface StartLine {
  version: string
  node: string
  url: string
  storage: string
  settings: object
}

export const startLine = (settings: Settings, url: string): StartLine => ({
  version: VERSION,
  node: process.version,
  url,
  storage: storageOf(settings),
  settings: shownOf(settings),
})

const storageOf = ({ databaseUrl, dataDir = DEFAULT_DATA_DIR }: Settings): string =>
  databaseUrl === undefined
    ? `SQLite in ${resolve(dataDir)}`
    : `PostgreSQL at ${placeOf(databaseUrl)}`

type Shown = { [K in keyof Settings]?: (value: NonNullable<Settings[K]>) => unknown }

type Plain = string | number | boolean | readonly string[]

/** Of a value with parts inside, `SHOWN` says which. */
const itself = <T extends Plain>(value: T): T => value
const howMany = ({ length }: { length: number }): string => `${length}, not shown`

/** The settings that are shown, and the part of each. No other setting is shown. */
const SHOWN: Shown = {
  port: itself,
  host: itself,
  open: itself,
  nodeTag: itself,
  publicUrl: itself,
  hosts: itself,
  drain: itself,
  horizon: itself,
  databases: itself,
  tokens: howMany,
  secrets: howMany,
  cors: ({ origins }) => ({ origins }),
  serverPrefix: itself,
  logRequests: itself,
  collections: (databases) =>
    Object.entries(databases).flatMap(([database, bound]) =>
      Object.keys(bound).map((collection) => `${database}/${collection}`),
    ),
  upstream: (root) => ('etcd' in root ? root.etcd.join() : root.url),
  limits: (limits) =>
    Object.fromEntries(Object.entries(limits).filter(([, limit]) => typeof limit === 'number')),
}

const shownOf = (settings: Settings): object =>
  Object.fromEntries(
    Object.entries(SHOWN).flatMap(([name, show]) => {
      const value = settings[name as keyof Settings]
      return value === undefined ? [] : [[name, show(value as never)]]
    }),
  )

/** By the package's own name: this file may be bundled into any folder of it. */
const packageJson: { version: string } = createRequire(import.meta.url)(
  'offline-hilo-server/package.json',
)

export const VERSION = packageJson.version

/** Such a token is one word again and again, or a row of keys. */
const FEW_CHARACTERS = 8
const READ_BY_OTHERS = 0o044
const ENTERED_BY_OTHERS = 0o011

/** @param config the path of the configuration file */
export function cautionsOf(settings: Settings, config: string | undefined): string[] {
  const { databaseUrl, dataDir = DEFAULT_DATA_DIR } = settings
  // A file has a list of them.
  const tokens = [settings.tokens ?? []].flat() as (string | ScopedToken)[]
  const plain = tokens
    .map((each) => (typeof each === 'string' ? each : each.token))
    .filter((text) => !/^sha256:/i.test(text))
  const weak = plain.filter((text) => new Set(text).size < FEW_CHARACTERS).length
  const hasSecret =
    plain.length > 0 ||
    (settings.secrets !== undefined && process.env.HILO_SECRETS === undefined) ||
    (databaseUrl !== undefined && /:[^/@]+@/.test(databaseUrl))
  const keepsSecret = databaseUrl === undefined && settings.secrets === undefined
  const ledger = keepsSecret ? join(dataDir, SQLITE_FILE) : undefined
  return [
    ...(weak > 0
      ? [
          `${weak} of ${tokens.length} tokens have less than ${FEW_CHARACTERS} different ` +
            'characters, so they can be guessed. Make others: openssl rand -hex 32',
        ]
      : []),
    ...(config !== undefined && hasSecret && isReadByOthers(config)
      ? [readable(config, 'holds secrets')]
      : []),
    ...(ledger !== undefined && isReadByOthers(ledger)
      ? [readable(ledger, 'holds the secret that signs grant tokens')]
      : []),
  ]
}

const readable = (file: string, what: string): string =>
  `${file} ${what}, and other users of this machine can read it: chmod 600 ${file}`

/** In Windows a file has no such mode. */
const isReadByOthers = (file: string): boolean =>
  process.platform !== 'win32' &&
  (statSync(file).mode & READ_BY_OTHERS) !== 0 &&
  (statSync(dirname(resolve(file))).mode & ENTERED_BY_OTHERS) !== 0
