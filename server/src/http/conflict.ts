/** A write whose condition did not hold, in RavenDB's words, with the versions for its clients. */
import { Refusal } from './refusals.js'

export interface Conflict {
  id: string
  kind: 'Put' | 'Delete'
  /** The change vector that the write expected; empty: no document. */
  expected: string
  /** Undefined: there is no document. */
  actual: string | undefined
}

const END = 'Optimistic concurrency violation, transaction will be aborted.'

/** @param status RavenDB's, or HTTP's for `If-None-Match` */
export const conflicted = (conflict: Conflict, status: 409 | 412): Refusal =>
  new Refusal(
    'conflict',
    status,
    'Raven.Client.Exceptions.ConcurrencyException',
    `Document ${wordsOf(conflict)}. ${END}`,
    {},
    versionsOf(conflict),
  )

function wordsOf({ id, kind, expected, actual }: Conflict): string {
  if (kind === 'Delete')
    return actual === undefined
      ? `${id.toLowerCase()} does not exist, but delete was called with change vector '${expected}'`
      : `${id} has change vector ${actual}, but Delete was called with change vector '${expected}'`
  if (actual === undefined)
    return `${id} does not exist, but Put was called with change vector: ${expected}`
  const what = expected === '' ? 'expecting new document' : `change vector ${expected}`
  return `${id} has change vector ${actual}, but Put was called with ${what}`
}

/** RavenDB names no version when a document that is to be deleted is not there. */
const versionsOf = ({ id, kind, expected, actual }: Conflict) =>
  kind === 'Delete' && actual === undefined
    ? { Id: null, ExpectedChangeVector: null, ActualChangeVector: null }
    : { Id: id, ExpectedChangeVector: expected, ActualChangeVector: actual ?? null }
