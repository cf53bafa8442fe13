/** The options of `createHiloWorker`. */
import { z } from 'zod'
import {
  allLimits,
  databaseList,
  type HandlerLimits,
  type HandlerOptions,
  handlerChecks,
} from '../../http/handler-options.js'
import { isListedAs, token } from '../../http/tokens.js'
import type { LedgerLimits } from '../../ledger/ledger.js'
import { type Checks, checked, type Optional, parted, secrets } from '../../ledger/option-checks.js'
import { DEFAULT_HORIZON_DAYS, horizon } from '../../ledger/prune.js'

export interface HiloWorkerOptions
  extends Omit<HandlerOptions, 'ledger' | 'databases' | 'limits' | 'isReady' | 'host'> {
  /** The databases that exist. Each is an object; no other name makes one. */
  databases: readonly string[]
  /**
   * Makes the ledger in an object that has none: in production for one deployment, by hand. Default
   * false: an empty object is refused, because a new ledger begins at 1.
   */
  create?: boolean | undefined
  /**
   * A request that sends it as `Authorization: Bearer …` may use `/operator/<database>/…`. At least
   * 16 characters. Default: the Worker has no such route.
   */
  operatorToken?: string | undefined
  /** As for `serve`. Default 400 days. */
  horizon?: number | undefined
  /** As for `openLedger`. */
  secrets?: readonly string[] | undefined
  limits?: Optional<LedgerLimits & HandlerLimits> | undefined
}

/** Without those that the handler checks. */
type Own = Omit<HiloWorkerOptions, Exclude<keyof HandlerOptions, 'databases' | 'limits'>>

/** The handler looks at its own options. */
const later = Object.fromEntries(
  Object.keys(handlerChecks.shape).map((name) => [name, z.unknown().optional()]),
)

const own = z.looseObject({
  ...later,
  databases: databaseList.min(1, 'is empty: list the databases, as in ["Shop"]'),
  create: z.boolean().default(false),
  operatorToken: token.optional(),
  horizon: horizon.default(DEFAULT_HORIZON_DAYS),
  secrets: secrets.optional(),
  limits: allLimits.prefault({}),
} satisfies Checks<Own>)

interface Checked
  extends Pick<z.output<typeof own>, 'databases' | 'create' | 'operatorToken' | 'horizon'> {
  secrets: readonly string[] | undefined
  ledgerLimits: LedgerLimits
  /** The handler checks them itself. */
  handler: Omit<HandlerOptions, 'ledger'>
}

/** @throws Error that names the option and the fix */
export function checkWorkerOptions(options: HiloWorkerOptions): Checked {
  const { create, operatorToken, horizon, secrets, limits, ...rest } = checked(
    own,
    options,
    'createHiloWorker',
  )
  const isClient = (each: unknown) => isListedAs(each, operatorToken!)
  // guard: H26 no token of a client is the operator's
  if (operatorToken !== undefined && Array.isArray(rest.tokens) && rest.tokens.some(isClient))
    throw new Error(
      'createHiloWorker cannot use its options.\n  operatorToken: is among tokens, too, so every ' +
        'client with it could drop a database. Give the operator a token of his own.',
    )
  const { ledgerLimits, handlerLimits } = parted(limits)
  const { databases } = rest
  const handler = { ...rest, limits: handlerLimits }
  return { databases, create, operatorToken, horizon, secrets, ledgerLimits, handler }
}
