/**
 * What several upstreams granted. Guarantees that one which fails costs nothing of what the others
 * have granted.
 */

/** @throws the first failure when none has granted anything */
export async function answered<T>(asked: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(asked)
  const granted = outcomes.filter((outcome) => outcome.status === 'fulfilled')
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed && granted.length === 0) throw failed.reason
  return granted.map(({ value }) => value)
}
