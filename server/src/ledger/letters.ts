/**
 * The letters that name series: A to Z, then AA, AB and so on, counted 1, 2, 3 …; and the
 * collection that counts them.
 */
import type { CollectionKey } from './ledger.js'

const ALPHABET = 26
const FIRST = 'A'.charCodeAt(0)

/** `receipts|` counts the letters of `receipts`. No request can name it: tags do not end in `|`. */
export const lettersOf = ({ database, collection }: CollectionKey): CollectionKey => ({
  database,
  collection: `${collection}|`,
})

/** Does the collection count letters? */
export const isOfLetters = (collection: string): boolean => collection.endsWith('|')

/** 1 is A, 27 is AA. */
export function toLetter(place: number): string {
  const last = String.fromCharCode(FIRST + ((place - 1) % ALPHABET))
  return place <= ALPHABET ? last : toLetter(Math.floor((place - 1) / ALPHABET)) + last
}

/** Or is it a name that an app has chosen? */
export const isLetter = (name: string): boolean => /^[A-Z]+$/.test(name)

/** @param letter as {@link toLetter} writes it */
export const toPlace = (letter: string): number =>
  [...letter].reduce((place, each) => place * ALPHABET + each.charCodeAt(0) - FIRST + 1, 0)
