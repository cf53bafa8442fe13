/**
 * Opens the ledger: PostgreSQL when there is a URL, else SQLite in a folder. Its schema is brought
 * up to date.
 */
import { z } from 'zod'
import { createCautions, type Tell } from './addons/bound/cautions.js'
import {
  type Bindings,
  type CollectionsOptions,
  collectionsSetting,
  countersSetting,
  joined,
  refuseWithoutPostgres,
} from './addons/bound/collections-setting.js'
import type { CounterHooks } from './addons/bound/hook/hook-options.js'
import { withSources } from './addons/bound/sources.js'
import { addressIn } from './addons/postgres/postgres-address.js'
import { ALL_FROM_ROOT, checkRole, openRegion } from './addons/region/region.js'
import { type RootSetting, rootSettings } from './addons/region/region-options.js'
import { createLedger } from './ledger/create-ledger.js'
import type { Ledger, LedgerLimits } from './ledger/ledger.js'
import {
  type Checks,
  checked,
  ledgerLimits,
  type Optional,
  secrets,
} from './ledger/option-checks.js'
import type { RowStore } from './ledger/row-store.js'
import type { Opening } from './sql/schema.js'

export interface LedgerOptions {
  /**
   * Folder of the SQLite file `hilo.db`. Default `./hilo-data`, for trying it out: where `NODE_ENV`
   * says `production`, or anything but `development` and `test`, a ledger without a place is
   * refused.
   */
  dataDir?: string | undefined
  /** `postgres://user:password@host/database`. The host leads to the primary. */
  databaseUrl?: string | undefined
  /**
   * Makes the ledger where there is none: in production once, by hand. Default: only where neither
   * `dataDir` nor `databaseUrl` is given. Elsewhere an empty place is refused, because a new ledger
   * begins at 1.
   */
  create?: boolean | undefined
  /**
   * The secrets that sign the grant tokens, kept outside of the ledger: then a copy of the ledger
   * signs none. Each has at least 32 characters. The first one signs; tokens of all are known.
   * Default: the ledger keeps a secret of its own.
   */
  secrets?: readonly string[] | undefined
  limits?: Optional<LedgerLimits> | undefined
  /**
   * Collections whose numbers come from another counter: an ORM's in the same PostgreSQL database,
   * or a RavenDB. By database, then by name.
   */
  collections?: CollectionsOptions | undefined
  /**
   * Collections whose numbers come from any other counter, which a function of yours asks. By
   * database, then by name.
   */
  counters?: CounterHooks | undefined
  /**
   * Makes this ledger a region: all its numbers come from another server. Not with `collections`
   * or `counters`.
   */
  upstream?: RootSetting | undefined
  /**
   * Makes the first row of a bound counter whose table has none under its key. Default false: a
   * missing row is refused, because a wrong key would be a second counter with the same ids.
   */
  first?: boolean | undefined
}

export const DEFAULT_DATA_DIR = './hilo-data'

/** Values of `NODE_ENV` where somebody tries something out. */
const TRY_OUTS = [undefined, '', 'development', 'test']

export const databaseUrl = z.string().superRefine((url, context) => {
  try {
    addressIn(url)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
  }
})

/** The message does not say the value: a URL may hold a password. */
export const dataDir = z
  .string()
  .min(1, 'is empty: name a folder')
  .refine(
    (text) => !/^[a-z][a-z\d+.-]+:\/\//i.test(text),
    'has to be a folder, and is a URL. PostgreSQL is named by --database-url, ' +
      'HILO_DATABASE_URL or DATABASE_URL (embedded: databaseUrl)',
  )

const ledgerOptions = z.strictObject({
  dataDir: dataDir.optional(),
  databaseUrl: databaseUrl.optional(),
  create: z.boolean().optional(),
  secrets: secrets.optional(),
  limits: ledgerLimits.prefault({}),
  collections: collectionsSetting.prefault({}),
  counters: countersSetting.prefault({}),
  upstream: rootSettings.optional(),
  first: z.boolean().default(false),
} satisfies Checks<LedgerOptions>)

/**
 * @throws Error that names the key and the fix; LedgerUnavailable when the database cannot be
 * reached
 */
export async function openLedger(options: LedgerOptions = {}): Promise<Ledger> {
  const { dataDir, databaseUrl, limits, upstream, first, ...given } = checked(
    ledgerOptions,
    options,
    'openLedger',
  )
  const collections = joined(given.collections, given.counters)
  const { create = dataDir === undefined && databaseUrl === undefined, secrets } = given
  if (databaseUrl !== undefined && dataDir !== undefined)
    throw new Error('openLedger: give databaseUrl or dataDir, not both: there is one ledger.')
  // guard: H31 in production a ledger has a place that was named
  if (databaseUrl === undefined && dataDir === undefined) refuseInProduction()
  if (upstream && collections.size > 0)
    throw new Error(
      'openLedger: give upstream, or collections and counters, not both: all numbers of a region ' +
        'come from its root. Bind collections there.',
    )
  refuseWithoutPostgres(collections, databaseUrl)
  const cautions = createCautions()
  const bound = Object.keys({ ...options.collections, ...options.counters })
  const { store, bindings } = await (databaseUrl === undefined
    ? openFile(dataDir ?? DEFAULT_DATA_DIR, collections, { create, secrets })
    : openDatabase(databaseUrl, collections, { create, secrets }, first, cautions.tell))
  const ledger = {
    ...createLedger(store, limits, upstream ? ALL_FROM_ROOT : bindings),
    onCaution: cautions.listen,
    ...(bound.length > 0 && { boundDatabases: () => bound }),
  }
  try {
    await checkRole(ledger, store.devices, upstream)
    if (upstream) return openRegion(ledger, store, upstream)
    return await withSources(ledger, bindings, cautions.tell)
  } catch (error) {
    await ledger.close()
    throw error
  }
}

/** @throws Error where `NODE_ENV` does not say that this is a try-out */
function refuseInProduction(): void {
  const { NODE_ENV } = process.env
  if (TRY_OUTS.includes(NODE_ENV)) return
  throw new Error(
    `NODE_ENV is ${NODE_ENV}, and nothing says where the ledger is. ${DEFAULT_DATA_DIR} is for ` +
      'trying out: on another machine, in another folder, or after the next deployment, the ' +
      'ledger there would be another one, and grant the same numbers again. Nothing was made. ' +
      'Name the place: --data with a folder that stays, or --database-url; in your own server, ' +
      'dataDir or databaseUrl. If your program passes one of them, it is undefined: set the ' +
      'variable that it comes from.',
  )
}

interface Opened {
  store: RowStore
  /** With the counters as they were found. */
  bindings: Bindings
}

// Loaded on demand: each has a driver that the other does not need.
async function openFile(dataDir: string, bindings: Bindings, opening: Opening): Promise<Opened> {
  const { openSqliteStore } = await import('./sqlite/sqlite-store.js')
  return { store: openSqliteStore(dataDir, bindings, opening), bindings }
}

async function openDatabase(
  databaseUrl: string,
  configured: Bindings,
  opening: Opening,
  isFirst: boolean,
  tell: Tell,
): Promise<Opened> {
  const { openPostgresStore } = await import('./addons/postgres/postgres-store.js')
  const { startBindings } = await import('./addons/bound/orm/start-bindings.js')
  let bindings = configured
  const store = await openPostgresStore(
    databaseUrl,
    async (pool, schemas) => {
      const started = await startBindings(pool, schemas, configured, isFirst, tell)
      bindings = started.bindings
      return started.counters
    },
    opening,
  )
  return { store, bindings }
}
