/**
 * The rest of each token's budget, kept in the object's storage: an object forgets its memory after
 * some seconds without a request, and a token that pauses would have a whole budget again.
 * Guarantees that the cost of a commit is on disk with it. A request that writes nothing is kept
 * with the next commit. A budget that is whole again when the object wakes goes with one, too.
 */
import { isWhole, type KeptBudgets, type Left } from '../../http/budgets.js'
import { putSetting, type Setting } from '../../sql/meta.js'
import { type Run, SQLITE, statement } from '../../sql/statements.js'

export interface StoredBudgets extends KeptBudgets {
  /** In the transaction of a commit. */
  write(): void
  /** That transaction was committed. */
  written(): void
}

/** In `hilo_meta`, with the name of the token behind it. The value is JSON. */
const KEY = 'budget:'
const READ = `SELECT key AS "key", value AS "value" FROM ${SQLITE.schema}.hilo_meta
  WHERE key LIKE '${KEY}%'`

const FORGET = `DELETE FROM ${SQLITE.schema}.hilo_meta WHERE key = $1`

export function storedBudgets(run: Run): StoredBudgets {
  const changed = new Map<string, Left>()
  const whole: string[] = []

  function* read(): Generator<[string, Left]> {
    const now = Date.now() / 1000
    for (const { key, value } of run<Setting>(statement(READ))) {
      const left: Left = JSON.parse(value)
      if (isWhole(left, now)) whole.push(key)
      else yield [key.slice(KEY.length), left]
    }
  }

  return {
    read,
    changed: (token, left) => void changed.set(token, left),
    write() {
      for (const key of whole) run(statement(FORGET, key))
      // guard: H26 an object that rests forgets no budget
      for (const [token, left] of changed)
        run(statement(putSetting(SQLITE.schema), KEY + token, JSON.stringify(left)))
    },
    written() {
      whole.length = 0
      changed.clear()
    },
  }
}
