/** The server's answers about series, as JSON with times that people read. */
import type { ListedSeries, SeriesCheckInAnswer } from '../../../src/core/wire.js'
import type { PastHandOver, Series, SeriesPlace, SeriesResult } from '../ledger/ledger.js'
import { checkTag, DEFAULT_SEPARATOR, time } from './messages.js'
import { badRequest } from './refusals.js'

export function listed({ database: _, letter, periods, ranges, ...of }: Series): ListedSeries {
  return {
    series: letter,
    ...withTimes(of),
    ...(periods.length > 0 && { periods }),
    ...(ranges.length > 0 && { ranges }),
  }
}

type Timed = Pick<Series, 'registeredAt' | 'seenAt' | 'closed' | 'handedOver' | 'handOvers'>

export const withTimes = <T extends Timed>({
  registeredAt,
  seenAt,
  closed,
  handedOver,
  handOvers,
  ...of
}: T) => ({
  ...of,
  registered: time(registeredAt),
  seen: time(seenAt),
  ...(closed && { closed: withTime(closed) }),
  ...(handedOver && { handedOver: handOverBody(handedOver) }),
  ...(handOvers.length > 0 && { handOvers: handOvers.map(pastBody) }),
})

/** As the address of the next page has it. */
export const placeText = ({ collection, place }: SeriesPlace): string => `${place}.${collection}`

/** @throws Refusal */
export function readPlace(text: string): SeriesPlace {
  const [, place, collection] = /^(\d{1,15})\.(.+)$/s.exec(text) ?? []
  if (collection === undefined)
    throw badRequest('after is what the page before has as "next". Leave it out for the first one.')
  checkTag(collection, DEFAULT_SEPARATOR)
  return { place: Number(place), collection }
}

/** @param ledger the name that the request has shown: it is that of this ledger */
export function resultBody(result: SeriesResult, ledger: string | undefined): SeriesCheckInAnswer {
  const named = ledger !== undefined && { ledger }
  if (result === 'unknown') return { unknown: true, ...named }
  if ('superseded' in result) {
    const { handedOver, ended: _, ...copied } = result
    return { ...copied, ...(handedOver && { handedOver: withTime(handedOver) }), ...named }
  }
  const { closed, ended: _, ...rest } = result
  return { ...rest, ...named, ...(closed && { closed: withTime(closed) }) }
}

const withTime = <T extends { at: number }>(done: T): Omit<T, 'at'> & { at: string } => ({
  ...done,
  at: time(done.at),
})

const handOverBody = <T extends NonNullable<Series['handedOver']>>({
  isTaken: taken,
  ...done
}: T) => ({ ...withTime(done), taken })

const pastBody = ({ closed, ...done }: PastHandOver) => ({
  ...handOverBody(done),
  ...(closed && { closed: withTime(closed) }),
})
