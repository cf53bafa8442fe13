/**
 * Compares a counter with its configuration and with the ledger, and says what is wrong. Each
 * message names what the configuration says, what the database says, and the fix.
 */
import type { Query } from '../../ledger/counter-port.js'
import { idsOf } from './blocks.js'
import { type Binding, isSequence } from './counter-options.js'
import { nameOf, nextValue } from './counter-statements.js'
import { sequenceProblems } from './sequence-checks.js'
import { tableProblems } from './table-checks.js'
import { idProblems } from './table-ids.js'

/**
 * What is wrong with the counter. Empty: nothing.
 * @param peak numbers of the ledger up to here may be in use
 * @param isFirst a row that is missing will be added
 */
export async function problemsOf(
  query: Query,
  binding: Binding,
  peak: number,
  isFirst: boolean,
): Promise<string[]> {
  const problems = await shapeProblems(query, binding, isFirst)
  if (problems.length > 0) return problems
  const next = await nextValue(query, binding)
  return [...positionProblems(binding, next, peak), ...(await idProblems(query, binding, peak))]
}

/** What is wrong with the counter, whatever its value. */
export async function shapeProblems(
  query: Query,
  binding: Binding,
  isFirst: boolean,
): Promise<string[]> {
  const { place } = binding
  return isSequence(place)
    ? sequenceProblems(query, binding, place)
    : tableProblems(query, binding, place, isFirst)
}

function positionProblems(binding: Binding, next: bigint, peak: number): string[] {
  const { blocks, first, system, fetchesTwice } = binding
  if (fetchesTwice && next < first! + 2n * blocks.step)
    return [
      `${nameOf(binding)} gives ${next} next, so ${system} has not made its first ids yet. It ` +
        'fetches two values for them, and uses all ids between the two, also those of a value ' +
        'that this server was given in between. Let the back end make one id, then start again.',
    ]
  if (next < 0n)
    return [
      `${nameOf(binding)} gives ${next} next, and no id is below 1. Somebody set it back: raise ` +
        'it above every id in use: offline-hilo-server adopt.',
    ]
  if (peak > 0 && (idsOf(blocks, next)?.low ?? 0n) <= peak)
    return [
      `${nameOf(binding)} gives ${next} next, whose ids are not above ${peak}, and up to there ` +
        'ids were granted here. ' +
        'Find out what set it back and stop that. If the collection counted by itself before, ' +
        'raise the counter: offline-hilo-server adopt.',
    ]
  return []
}
