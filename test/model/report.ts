/** What an exploration found, in words. */
import type { Exploration } from './explorer.js'

/** Its size, and the shortest way to what is wrong, if something is. */
export function report({ states, transitions, depth, isComplete, violation }: Exploration): string {
  const count = (number: number) => number.toLocaleString('en')
  const size =
    `${count(states)} states, ${count(transitions)} transitions, ${depth} events deep, ` +
    (isComplete ? 'all that there are' : 'and there are more')
  if (!violation) return size
  return [
    `${size}. ${violation.problem}`,
    ...violation.trace.map((event, i) => `${String(i + 1).padStart(3)}. ${event}`),
  ].join('\n')
}
