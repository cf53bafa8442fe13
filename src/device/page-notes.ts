/**
 * The notes that a page leaves when it closes: the names under which the page writes them and the
 * next owner reads them (H5). Each note is written to two places, because no engine loses both. It
 * names its lease, so its second copy settles nothing.
 */
import type { StoreKey } from './device-store.js'
import type { ExchangeNote, LeaseNote, Note } from './state.js'

/** Names it in locks, in messages between tabs, and in a page's notes over a reload. */
export const nameOf = (key: StoreKey): string => JSON.stringify(key)

/** The object store that a going page puts its notes into, under `[...key, id]`. */
export const NOTES_STORE = 'notes'

/** `localStorage` keys of the second copies start with this; the id follows. */
export const notesKeyPrefix = (name: string, key: StoreKey): string =>
  `${name}/note/${nameOf(key)}/`

/** The key of a note. */
export const idOf = (note: { exchange: string } | { lease: string }): string =>
  'exchange' in note ? note.exchange : note.lease

/**
 * Notes come from storage, which is not trusted. A note that cannot be read is ignored: `settle`
 * takes one with an `exchange` for an {@link ExchangeNote}.
 */
export const isNote = (note: Partial<LeaseNote & ExchangeNote> | null): note is Note =>
  typeof note?.exchange === 'string'
    ? Array.isArray(note.takeBack)
    : typeof note?.lease === 'string' && !('exchange' in note)
