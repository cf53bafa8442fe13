/**
 * Does a device that starts lease its stored ranges, or does it ask the server first whether it is
 * a copy (H32)? Each function is one event. Guarantees that nothing is leased between the question
 * and its end.
 */

/** `open`: no transaction has found yet that the server need not be asked. */
export type Start = 'open' | 'asking' | 'over'

/** A transaction has found whether the server has to be asked. */
export const found = (start: Start, hasToAsk: boolean): Start =>
  start === 'open' && !hasToAsk ? 'over' : start

/**
 * A page asks for numbers.
 * @returns whether it waits until the start is over
 */
export function wanted(start: Start, isOnline: boolean): [Start, waits: boolean] {
  if (start !== 'open') return [start, start === 'asking']
  return isOnline ? ['asking', true] : ['over', false]
}

/** The server has answered, or was waited for long enough. */
export const ended = (start: Start): Start => (start === 'asking' ? 'over' : start)
