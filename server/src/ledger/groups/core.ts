/**
 * What the groups of a ledger's methods have in common. Guarantees that a step reads what holds for
 * its databases, and that its rows are above their floors.
 */
import { type Alarm, createAlarm } from '../alarm.js'
import type { BoundCollections } from '../bound-collections.js'
import type { LedgerContext } from '../context.js'
import { grantTokens, newGrantId } from '../grant-token.js'
import { distinct, keyOf, keyText, normalized } from '../keys.js'
import type { CollectionKey, IdentityKey, LedgerLimits } from '../ledger.js'
import { databaseIn, withDatabases, withFloors } from '../restored.js'
import type { RowStore, Transaction } from '../row-store.js'
import type { DatabaseRow } from '../rows.js'

export interface LedgerCore {
  store: RowStore
  context: LedgerContext
  alarm: Alarm
  /** @param databases what holds for them is part of what the step works on */
  change<T>(databases: readonly string[], transaction: Transaction<T>): Promise<T>
  /** What there is, and what is bound. Before a restore, that may have granted numbers, too. */
  names(): Promise<{ collections: CollectionKey[]; identities: IdentityKey[] }>
}

export function ledgerCore(
  store: RowStore,
  limits: LedgerLimits,
  bound: BoundCollections,
): LedgerCore {
  const tokens = grantTokens(store.secrets.known)
  const context: LedgerContext = { limits, bound, tokens, newGrantId }
  const alarm = createAlarm()

  async function change<T>(
    databases: readonly string[],
    { select, ask, step }: Transaction<T>,
  ): Promise<T> {
    let after: DatabaseRow[] = []
    const answer = await store.change<T>({
      select: { ...select, databases },
      ...(ask && { ask: (rows) => ask(withFloors(rows, bound)) }),
      step: (loaded, answers) => {
        const rows = withFloors(loaded, bound)
        const result = step(rows, answers)
        const saved = 'changes' in result ? withDatabases(rows, result.changes) : rows
        after = databases.map((name) => databaseIn(saved, name))
        return result
      },
    })
    alarm.look(after)
    return answer
  }

  async function names() {
    const { collections, identities } = await store.readNames()
    const keys = [...collections, ...[...bound.values()].map((key) => keyOf(normalized(key)))]
    return { collections: distinct(keys, keyText), identities }
  }

  return { store, context, alarm, change, names }
}

export const databasesOf = (keys: readonly { database: string }[]): string[] => [
  ...new Set(keys.map(({ database }) => database)),
]
