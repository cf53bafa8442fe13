/** How often the seed chooses each kind of event, compared with the others that are possible. */

/** The first pattern that an event matches is its kind. */
const WEIGHTS: readonly [kind: RegExp, weight: number][] = [
  [/ opens on device /, 8],
  [/ issues a number\.$/, 30],
  [/ asks its device /, 14],
  [/ tells its device /, 6],
  [/ hears its device/, 24],
  [/ parks: /, 1],
  [/ is left/, 2],
  [/ comes back from the cache\.$/, 5],
  [/, in the cache, is thrown away\.$/, 1],
  [/ is killed\.$/, 1],
  [/ writes its dead pages off\.$/, 4],
  [/ loses its power\.$/, 1],
  [/ sends a claim\.$/, 14],
  [/ sends a check-in\.$/, 2],
  [/^The profile of .* is copied\.$/, 1],
  [/ arrives\.$/, 16],
  [/ arrives, and will once more\.$/, 2],
  [/ is lost\.$/, 3],
  [/^The server forgets /, 1],
  [/ is backed up\.$/, 1],
  [/ is restored from its backup\.$/, 3],
  [/ raises the floors\.$/, 1],
  [/ is refused by a proxy\.$/, 1],
]

/** Undefined for an event of no known kind. */
function kindOf(event: string): number | undefined {
  const kind = WEIGHTS.findIndex(([pattern]) => pattern.test(event))
  return kind < 0 ? undefined : kind
}

/**
 * Chooses the event that happens: first its kind, then one event of that kind. If all events were
 * equal, a kind with many variants would happen more often.
 * @param first at least 0 and below 1, as is `second`
 */
export function choose(events: readonly string[], first: number, second: number): number {
  const kinds = events.map((event) => kindOf(event) ?? 0)
  const possible = WEIGHTS.map(([, weight], kind) => (kinds.includes(kind) ? weight : 0))
  let left = first * possible.reduce((sum, weight) => sum + weight, 0)
  const kind = possible.findIndex((weight) => {
    left -= weight
    return left < 0
  })
  const ofKind = events.flatMap((_, i) => (kinds[i] === kind ? [i] : []))
  return ofKind[Math.floor(second * ofKind.length)]!
}
