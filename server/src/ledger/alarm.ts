/** Tells listeners that a database grants nothing: once for each, until it grants again. */
import type { DatabaseRow } from './rows.js'

export interface Alarm {
  /** What is known of databases now. */
  look(databases: readonly DatabaseRow[]): void
  listen(listener: (database: string) => void): void
}

export function createAlarm(): Alarm {
  const told = new Set<string>()
  const listeners: ((database: string) => void)[] = []
  return {
    look(databases) {
      for (const { database, isRestored } of databases)
        if (!isRestored) told.delete(database)
        else if (!told.has(database)) {
          told.add(database)
          for (const listener of listeners) listener(database)
        }
    },
    listen: (listener) => void listeners.push(listener),
  }
}
