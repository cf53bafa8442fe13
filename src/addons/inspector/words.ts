/**
 * The inspector's words: names of the pieces of the line, and how numbers and times are written.
 */
import type { CollectionStatus, Numbers, StorageKind } from '../../index.js'
import type { Piece } from './history.js'

/** The meaning of each colour, in the order of the legend. */
export const KINDS: Record<Piece['kind'] | 'leased-here', { name: string; meaning: string }> = {
  granted: { name: 'Granted', meaning: 'on this device, free for every tab' },
  'leased-here': { name: 'Leased, this page', meaning: 'the next ids made here' },
  leased: { name: 'Leased, another page', meaning: 'held by another tab' },
  issued: { name: 'Issued', meaning: 'the app has used them' },
  offered: { name: 'Offered', meaning: 'above the reserve; goes back when a page closes' },
  'given-back': { name: 'Given back', meaning: 'sent to the server' },
  gap: { name: 'Gap', meaning: 'nobody will ever issue them' },
}

export const STORAGE: Record<StorageKind, string> = {
  opening: 'opening',
  persistent: 'persistent',
  'best-effort': 'best effort: may be evicted',
  memory: 'memory: lost with this page',
}

/** A word and a sign, because colour alone does not show the difference to everybody. */
export const STATES: Record<CollectionStatus['state'], string> = {
  ready: '● Ready',
  low: '▼ Low',
  claiming: '↻ Claiming',
  exhausted: '■ Exhausted',
}

export const count = (number: number): string => number.toLocaleString('en')

export const span = ({ from, to }: Pick<Numbers, 'from' | 'to'>): string =>
  from === to ? count(from) : `${count(from)}–${count(to)}`

export const clock = (time: number): string => new Date(time).toLocaleTimeString('en-GB')

export const pageName = (page: string | undefined, isThisPage: boolean | undefined): string =>
  isThisPage ? 'this page' : page ? `page ${page.slice(0, 4)}` : ''
