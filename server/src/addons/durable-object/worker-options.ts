/** The options of `createHiloWorker`. */
import { z } from 'zod'
import {
  databaseList,
  type HandlerLimits,
  type HandlerOptions,
} from '../../http/handler-options.js'
import { isListedAs, token } from '../../http/tokens.js'
import type { LedgerLimits } from '../../ledger/ledger.js'
import {
  type Checks,
  checked,
  ledgerLimits,
  type Optional,
  parted,
  secrets,
} from '../../ledger/option-checks.js'
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
type Own = Omit<HiloWorkerOptions, Exclude<keyof HandlerOptions, 'databases'>>

const own = z.object({
  databases: databaseList.min(1, 'is empty: list the databases, as in ["Shop"]'),
  create: z.boolean().default(false),
  operatorToken: token.optional(),
  horizon: horizon.default(DEFAULT_HORIZON_DAYS),
  secrets: secrets.optional(),
} satisfies Checks<Own>)

type Checked = z.output<typeof own> & {
  ledgerLimits: LedgerLimits
  /** The handler checks them itself. */
  handler: Omit<HandlerOptions, 'ledger'>
}

/** @throws Error that names the option and the fix */
export function checkWorkerOptions(options: HiloWorkerOptions): Checked {
  const {
    databases,
    create,
    operatorToken,
    limits = {},
    horizon,
    secrets: outside,
    ...rest
  } = options
  const given = { databases, create, operatorToken, horizon, secrets: outside }
  const mine = checked(own, given, 'createHiloWorker')
  const isClient = (each: unknown) => isListedAs(each, operatorToken!)
  // guard: H26 no token of a client is the operator's
  if (operatorToken !== undefined && Array.isArray(rest.tokens) && rest.tokens.some(isClient))
    throw new Error(
      'createHiloWorker cannot use its options.\n  operatorToken: is among tokens, too, so every ' +
        'client with it could drop a database. Give the operator a token of his own.',
    )
  const { ledgerLimits: ofLedger, handlerLimits } = parted(limits)
  return {
    ...mine,
    ledgerLimits: checked(ledgerLimits, ofLedger, 'createHiloWorker', (path) =>
      ['limits', ...path].join('.'),
    ),
    handler: { ...rest, databases: mine.databases, limits: handlerLimits },
  }
}
