/** Checks the names of options. Guarantees that a mistyped name is answered with the nearest. */
import { shown } from './brief.js'
import { HiloError } from './errors.js'

/** An object of no class, as in `{ orders: 500 }`. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * An option with a wrong name would have no effect.
 * @returns a copy: an app may use its object again for another call, before this one has read it
 * @throws HiloError `invalid-argument`
 */
export function checkKeys<T>(name: string, value: T, known: readonly string[]): T {
  if (!isPlain(value)) throw invalid(name, `a plain object, as in { ${known[0]} }`, value)
  // guard: H38 what an app changes after its call changes nothing
  const copy = { ...value }
  for (const key of Object.keys(copy))
    if (!known.includes(key)) {
      const near = nearest(key, known)
      const advice = near ? `Did you mean \`${near}\`?` : `Known: ${known.join(', ')}.`
      throw nothingDone(`there is no \`${name}.${key}\`. ${advice}`)
    }
  return copy
}

/** Which of these names is most like this one? */
export const nearest = (name: string, known: readonly string[]): string | undefined =>
  [0, 1, 2].flatMap((changes) =>
    known.filter((each) => isNear(each.toLowerCase(), name.toLowerCase(), changes)),
  )[0]

/** Do the two differ by at most so many letters that were added, left out or replaced? */
function isNear(one: string, other: string, changes: number): boolean {
  if (one === other || changes === 0) return one === other
  const [a, b] = [one.slice(1), other.slice(1)]
  if (one[0] === other[0]) return isNear(a, b, changes)
  return [
    [a, b],
    [a, other],
    [one, b],
  ].some(([left, right]) => isNear(left!, right!, changes - 1))
}

export const invalid = (name: string, rule: string, value: unknown): HiloError =>
  nothingDone(`\`${name}\` has to be ${rule}; this is ${shown(value)}.`)

const nothingDone = (why: string): HiloError =>
  new HiloError('invalid-argument', `offline-hilo did nothing: ${why}`)
