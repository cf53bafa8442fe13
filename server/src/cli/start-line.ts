/**
 * What the log says at the start: which version serves from where, with which settings. Guarantees
 * that no token and no password is in it.
 */
import { resolve } from 'node:path'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { placeOf } from '../postgres/place.js'
import type { RootSetting } from '../region/options.js'
import type { Settings } from '../settings.js'
import { VERSION } from './version.js'

export interface StartLine {
  version: string
  node: string
  url: string
  storage: string
  settings: object
}

export function startLine(settings: Settings, url: string): StartLine {
  const { databaseUrl, dataDir, tokens, collections, upstream, ...rest } = settings
  return {
    version: VERSION,
    node: process.version,
    url,
    storage:
      databaseUrl === undefined
        ? `SQLite in ${resolve(dataDir ?? DEFAULT_DATA_DIR)}`
        : `PostgreSQL at ${placeOf(databaseUrl)}`,
    settings: {
      ...rest,
      ...(tokens && { tokens: `${tokens.length}, not shown` }),
      ...(upstream && { upstream: placeOfRoot(upstream) }),
      ...(collections && { bound: namesOf(collections) }),
    },
  }
}

const placeOfRoot = (upstream: RootSetting): string =>
  'etcd' in upstream ? upstream.etcd.join() : upstream.url

const namesOf = (collections: NonNullable<Settings['collections']>): string[] =>
  Object.entries(collections).flatMap(([database, bound]) =>
    Object.keys(bound).map((collection) => `${database}/${collection}`),
  )
