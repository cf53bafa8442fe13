/** The errors of a page that has no id for a caller: each names the cause and a remedy. */
import { because, HiloError } from '../../core/errors.js'

/** @param left how many numbers the device has, too few for `count` */
export function notServed(
  collection: string,
  count: number,
  left: number,
  cause: HiloError,
): HiloError {
  const code = cause.code === 'no-hilo-server' ? cause.code : 'exhausted'
  const few = `${count} asked for, ${left} left on this device`
  const none = code === 'exhausted' ? 'no id is left on this device' : 'no id'
  return new HiloError(
    code,
    because(`Collection '${collection}': ${left > 0 ? few : none}.`, cause),
    { cause, retryAfter: cause.retryAfter },
  )
}

export const notLeased = (collection: string): HiloError =>
  new HiloError(
    'not-leased',
    `Collection '${collection}': this page holds no id right now. Use ` +
      `\`await hilo.nextId('${collection}')\`, or take ids before code that cannot wait: ` +
      `\`await hilo.take('${collection}', n)\`.`,
  )

export const ambiguous = (collection: string, nodes: readonly string[]): HiloError =>
  new HiloError(
    'invalid-argument',
    `Collection '${collection}': no number was issued. This device has ids of ` +
      `${nodes.join(' and of ')}, and both may grant the same number. Use the whole id: ` +
      `\`await hilo.nextId('${collection}')\`.`,
  )
