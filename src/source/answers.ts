/**
 * Reads answers with a status of success. Guarantees that an answer of somebody else, such as the
 * HTML of a hotel's sign-in page, is always `no-hilo-server`: the device then counts as offline.
 */
import { HiloError } from '../core/errors.js'

/** A hint for when something else than a HiLo server seems to be at the address. */
export const CHECK_ADDRESS =
  'Check `url`, that the server runs, and that a proxy or dev server passes `/databases` on.'

/** The fields of a JSON body. Undefined: it is no JSON. */
export function parsed(body: string): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(body))
  } catch {
    return undefined
  }
}

/**
 * @param fields of which each answer has one; none: it may have any
 * @throws HiloError `no-hilo-server`
 */
export function readAnswer<T>(body: string, url: string, ...fields: (keyof T & string)[]) {
  const answer = parsed(body)
  if (!answer) throw noHiloAnswer(url, 'it is not JSON', body)
  if (fields.length > 0 && !fields.some((field) => field in answer))
    throw noHiloAnswer(url, `it has no ${fields.join(' or ')}`, body)
  return answer as { [K in keyof T]?: unknown }
}

export const noHiloAnswer = (
  url: string,
  why: string,
  body: string,
  advice = CHECK_ADDRESS,
): HiloError =>
  new HiloError('no-hilo-server', `${noAnswer(url, why, body)} ${advice}`, { noAnswer: true })

/**
 * Does the answer name its request? A RavenDB's names none.
 * @throws HiloError `no-hilo-server`
 */
export function checkAsked(
  answered: unknown,
  asked: string | undefined,
  url: string,
  body: string,
): void {
  // guard: H11 the answer to another request is no answer
  if (answered !== undefined && answered !== asked) throw ofAnother(url, body)
}

export const ofAnother = (url: string, body: string): HiloError =>
  noHiloAnswer(
    url,
    'it answers another request',
    body,
    'A cache in front of it seems to answer for it: exempt `/databases` from it.',
  )

/** A HiLo server's answer contradicts itself. */
export const invalid = (url: string, why: string, body: string): HiloError =>
  new HiloError('invalid-response', `${noAnswer(url, why, body)} Look into its log.`)

const noAnswer = (url: string, why: string, body: string): string =>
  `${url} gave no HiLo answer: ${why} (${JSON.stringify(body.slice(0, 40))}).`
