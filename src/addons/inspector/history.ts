/**
 * A collection's number line: the numbers that the device holds now, and the fate of others while
 * the inspector was open. Pure.
 */
import type { Activity, ActivityKind, InspectedSegment, Numbers } from '../../index.js'

/** A piece of the line. A piece that the device no longer holds has no page. */
export interface Piece extends Numbers {
  kind: InspectedSegment['kind'] | 'gap'
  page?: string
  isThisPage?: boolean
}

/**
 * The state of numbers after an event. A check-in changes nothing, and an error concerns no
 * numbers.
 */
export const PLACES: Record<ActivityKind | 'error', Piece['kind'] | ''> = {
  claim: 'granted',
  lease: 'leased',
  issue: 'issued',
  park: 'granted',
  offer: 'offered',
  'take-back': 'granted',
  'give-back': 'given-back',
  'check-in': '',
  fork: 'gap',
  drop: 'gap',
  gap: 'gap',
  error: '',
}

/**
 * The pieces that the device no longer holds, after one more activity. For each number, only the
 * last activity counts.
 */
export function remember(
  past: readonly Piece[],
  { kind, numbers }: Pick<Activity, 'kind' | 'numbers'>,
): Piece[] {
  const place = PLACES[kind]
  if (!place) return [...past]
  const rest = without(past, numbers)
  return ['issued', 'given-back', 'gap'].includes(place)
    ? join([...rest, ...numbers.map((each) => ({ ...each, kind: place }))])
    : rest
}

/**
 * Everything on the line, lowest first within a series. The device's numbers win over the memory of
 * the inspector.
 */
export function pieces(held: readonly InspectedSegment[], past: readonly Piece[]): Piece[] {
  return join([
    ...without(past, held),
    ...held.map(({ from, to, prefix, serverTag, kind, page, isThisPage }): Piece => {
      return {
        from,
        to,
        prefix,
        serverTag,
        kind,
        ...(page && kind !== 'issued' && { page, isThisPage }),
      }
    }),
  ])
}

/**
 * Numbers of one prefix and server tag are on one line; another node may have granted the same
 * numbers.
 */
export const seriesOf = ({ prefix, serverTag }: Pick<Numbers, 'prefix' | 'serverTag'>): string =>
  `${prefix}…${serverTag && `-${serverTag}`}`

const isSameSeries = (a: Numbers, b: Numbers): boolean => seriesOf(a) === seriesOf(b)

function without(past: readonly Piece[], taken: readonly Numbers[]): Piece[] {
  return taken.reduce<Piece[]>(
    (left, other) =>
      left.flatMap((piece) => {
        if (piece.to < other.from || piece.from > other.to || !isSameSeries(piece, other))
          return piece
        const parts = [
          { ...piece, to: other.from - 1 },
          { ...piece, from: other.to + 1 },
        ]
        return parts.filter((part) => part.from <= part.to)
      }),
    [...past],
  )
}

/**
 * Sorted, with neighbours of one kind joined. Only granted ranges stay apart, because each was a
 * separate claim.
 */
function join(all: readonly Piece[]): Piece[] {
  const joined: Piece[] = []
  for (const piece of [...all].sort(
    (a, b) => seriesOf(a).localeCompare(seriesOf(b)) || a.from - b.from,
  )) {
    const last = joined.at(-1)
    const isOne =
      last &&
      last.to + 1 === piece.from &&
      last.kind === piece.kind &&
      last.page === piece.page &&
      isSameSeries(last, piece)
    if (isOne && piece.kind !== 'granted') last.to = piece.to
    else joined.push({ ...piece })
  }
  return joined
}
