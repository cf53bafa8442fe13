/**
 * Series in one object that is read and written at once: the memory of a test, a record on a disk
 * that is simulated. Guarantees all that the port demands, if one transaction runs at a time and
 * the changes of a failed one are thrown away.
 */
import type { Entry, Link, NumberRow, SeriesTransaction } from '../../device/series-store.js'
import type { StoredSeries } from './numbers.js'
import { readState, type SeriesState } from './state.js'

export const NOTHING_STORED: StoredSeries = {
  state: readState(undefined),
  numbers: [],
  links: [],
  entries: [],
}

/** @param stored is changed */
export function wholeTransaction(stored: StoredSeries): SeriesTransaction {
  const { numbers, links, entries } = stored
  const isAt = (a: NumberRow, b: NumberRow) => a.letter === b.letter && a.place === b.place
  const isNumber = (a: NumberRow, b: NumberRow) =>
    a.letter === b.letter && a.period === b.period && a.number === b.number
  const isWith = (a: NumberRow, b: NumberRow) => a.id === b.id
  const isLink = (a: Link, b: Link) => a.chain === b.chain && a.at === b.at
  const isOfKey = (a: { key?: string }, b: { key?: string }) =>
    a.key !== undefined && a.key === b.key
  const isOfDevice = ({ chain }: Link) => chain === ''
  const add = <T>(all: T[], one: T, ...areSame: ((a: T, b: T) => boolean)[]) => {
    if (all.some((each) => areSame.some((isSame) => isSame(each, one))))
      throw new Error(`It is there already: ${JSON.stringify(one)}`)
    all.push(one)
  }
  return {
    state: async () => (stored.state === NOTHING_STORED.state ? undefined : stored.state),
    numberOf: async (key) => numbers.find((row) => row.key === key),
    numberWith: async (id) => numbers.find((row) => row.id === id),
    lastNumber: async (letter, period) =>
      numbers.findLast((row) => row.letter === letter && (period ?? row.period) === row.period),
    numbersAfter: async (letter, place) =>
      numbers.filter((row) => row.letter === letter && row.place > place),
    openNumbers: async () => numbers.filter(({ open }) => open),
    linkOf: async (key, chain) =>
      links.find((link) => link.key === key && isOfDevice(link) === (chain === '')),
    lastLink: async (chain) => links.findLast((link) => link.chain === chain),
    numbers: async () => [...numbers],
    links: async () => [...links],
    entries: async (after, most) => entries.filter(({ place }) => place > after).slice(0, most),
    saveState(state) {
      stored.state = state as SeriesState
    },
    addNumber: (row) => add(numbers, row, isAt, isNumber, isWith, isOfKey),
    saveNumber(row) {
      numbers[numbers.findIndex((each) => isAt(each, row))] = row
    },
    addEntry: (entry) => add(entries, entry, (a: Entry, b: Entry) => a.place === b.place),
    addLink: (link) =>
      add(links, link, isLink, (a, b) => isOfKey(a, b) && isOfDevice(a) === isOfDevice(b)),
  }
}
