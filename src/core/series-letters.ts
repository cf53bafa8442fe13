/** Series are counted by letters: A to Z, then AA, AB and so on. */

const ALPHABET = 26
const FIRST = 'A'.charCodeAt(0)

/** 1 is A, 27 is AA. */
export function toLetter(place: number): string {
  const last = String.fromCharCode(FIRST + ((place - 1) % ALPHABET))
  return place <= ALPHABET ? last : toLetter(Math.floor((place - 1) / ALPHABET)) + last
}

/** @returns 0 for a name that an app has chosen: it is no letter */
export const toPlace = (name: string): number =>
  /^[A-Z]+$/.test(name)
    ? [...name].reduce((place, each) => place * ALPHABET + each.charCodeAt(0) - FIRST + 1, 0)
    : 0
