/** What a SQLite ledger remembers of the collections that are bound. */
import {
  BINDING_PREFIX,
  type BoundCollections,
  changedBindings,
  refuseBindings,
} from '../ledger/bound-collections.js'
import { reader, runner, type Sqlite, write } from './transaction.js'

/** @throws CounterUnusable when the ledger remembers another binding */
export function rememberBindings(db: Sqlite, bound: BoundCollections): void {
  if (bound.size === 0) return
  const read = reader<{ value: string }>(db, 'SELECT value FROM hilo_meta WHERE key = ?')
  const remember = runner(
    db,
    'INSERT INTO hilo_meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  write(db, () => {
    const remembered = new Map(
      [...bound.keys()].flatMap((key) =>
        read(BINDING_PREFIX + key).map(({ value }): [string, string] => [key, value]),
      ),
    )
    refuseBindings(changedBindings(bound, remembered))
    for (const [key, { description }] of bound) remember(BINDING_PREFIX + key, description)
  })
}
