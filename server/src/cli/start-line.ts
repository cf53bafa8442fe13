/**
 * What the log says at the start: which version serves from where, with which settings. Guarantees
 * that no token and no password is in it.
 */
import { resolve } from 'node:path'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import type { Settings } from '../settings.js'
import { VERSION } from './version.js'

export function startLine(settings: Settings, url: string): object {
  const { databaseUrl, dataDir, tokens, collections, ...rest } = settings
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
      ...(collections && { bound: namesOf(collections) }),
    },
  }
}

/** Host and database, without user and password. */
function placeOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return host + pathname
}

const namesOf = (collections: NonNullable<Settings['collections']>): string[] =>
  Object.entries(collections).flatMap(([database, bound]) =>
    Object.keys(bound).map((collection) => `${database}/${collection}`),
  )
