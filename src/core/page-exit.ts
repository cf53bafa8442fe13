/**
 * What a page leaves behind when it goes: names that the page writes under and the next owner reads
 * (H5). It is left in two places at once, because no engine loses both; each note names its lease,
 * so the second copy settles nothing.
 */
import type { ExchangeNote, LeaseNote, Note } from './state.js'

/** One series of numbers of one authority: what everything stored is filed under. */
export type SeriesKey = [url: string, database: string, prefix: string]

/** The object store that a going page puts its notes into, under `[...key, id]`. */
export const NOTES_STORE = 'notes'

/** `localStorage` keys of the second copies start with this; the id follows. */
export const notesKeyPrefix = (name: string, key: SeriesKey): string =>
  `${name}/note/${JSON.stringify(key)}/`

/** What a note is filed under. */
export const idOf = (note: { exchange: string } | { lease: string }): string =>
  'exchange' in note ? note.exchange : note.lease

/** Notes come from storage, which is not trusted; one that cannot be read says nothing. */
export const isNote = (note: Partial<LeaseNote & ExchangeNote> | null): note is Note =>
  typeof note?.lease === 'string' ||
  (typeof note?.exchange === 'string' && Array.isArray(note.takeBack))
