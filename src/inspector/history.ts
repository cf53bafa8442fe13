/**
 * What is on a collection's number line: what the device holds now, and what has become of other
 * numbers since somebody looked. Pure.
 */
import type { Activity, ActivityKind, InspectedSegment, Numbers } from '../index.js'

/** A piece of the line. What is past has no page any more. */
export interface Piece extends Numbers {
  kind: InspectedSegment['kind'] | 'gap'
  page?: string
  isThisPage?: boolean
}

/**
 * Where an event takes numbers to. A check-in leaves them where they are; an error concerns none.
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
  gap: 'gap',
  error: '',
}

/**
 * The pieces that the device holds no more, after one more activity. Whatever happens to a number,
 * only its last fate counts.
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
 * Everything on the line, lowest first within a series: what the device holds counts more than what
 * is remembered.
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
  return taken.reduce<readonly Piece[]>(
    (left, { from, to, ...series }) =>
      left.flatMap((piece) => {
        if (piece.to < from || piece.from > to || !isSameSeries(piece, { from, to, ...series }))
          return piece
        const parts = [
          { ...piece, to: from - 1 },
          { ...piece, from: to + 1 },
        ]
        return parts.filter((part) => part.from <= part.to)
      }),
    past,
  ) as Piece[]
}

/**
 * Sorted, and neighbours of one kind made one; only granted ranges stay apart, because each was a
 * claim of its own.
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
