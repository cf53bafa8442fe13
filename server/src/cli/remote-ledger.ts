/**
 * A ledger behind the address of a Worker: each question of the commands is one request of an
 * operator. Guarantees that the token goes over TLS, or to this machine, only.
 */
import { isLoopback } from '../http/open.js'
import { OPERATED, OPERATED_METHODS, type OperatedLedger, pathOfMethod } from '../http/operated.js'
import { reasonOf } from '../ledger/ledger-errors.js'
import { checked, publicUrl } from '../ledger/option-checks.js'

const TIMEOUT_MS = 30_000
const TOKEN_VARIABLE = 'HILO_OPERATOR_TOKEN'

/**
 * @param database of which everything is asked
 * @throws Error when there is no token, or it would go over the network in the clear
 */
export function remoteLedger(address: string, database: string): OperatedLedger {
  const url = checked(publicUrl, address, 'offline-hilo-server', () => '--url')
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new Error(`--url: ${url} would send the token for everybody to read. Give an https URL.`)
  const token = process.env[TOKEN_VARIABLE]
  if (!token)
    throw new Error(
      `--url needs the operator's token of ${url} in ${TOKEN_VARIABLE}: everybody on the machine ` +
        'can read what is in a flag.',
    )

  async function ask(what: string, body: object): Promise<unknown> {
    const response = await fetch(`${url}/operator/${encodeURIComponent(database)}/${what}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      // To another address, the token is not sent.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error) => {
      throw new Error(`${url} does not answer: ${reasonOf(error.cause ?? error)}.${PERHAPS_DONE}`)
    })
    const answer = await response.json().catch(() => undefined)
    if (response.ok && answer !== undefined) return answer
    const { Type = '', Message } = (answer ?? {}) as { Type?: string; Message?: string }
    if (Message === undefined)
      throw new Error(
        `${url} answered ${response.status}, and not as the Worker of offline-hilo-server does. ` +
          `Correct the address.${response.status >= 500 ? OR_ITS_LOG : ''}`,
      )
    throw new Error(
      `${url} answered: ${Message.replace(/\.?$/, '.')}${hintOn(response.status, Type)}`,
    )
  }

  const methods = OPERATED_METHODS.map((method) => {
    const fields = Object.keys(OPERATED[method].shape)
    const call = (given?: string | object) => {
      const body = Object.entries(Object(given)).filter(([name]) => fields.includes(name))
      return ask(pathOfMethod(method), Object.fromEntries(body))
    }
    return [method, call] as const
  })
  return Object.fromEntries(methods) as unknown as OperatedLedger
}

const PERHAPS_DONE =
  ' What was asked may have been done or not: look with status or series before you ask again.'

/** A Worker whose options are refused answers nothing of its own. */
const OR_ITS_LOG =
  " If it is right, the Worker's log says why, as where its options are refused: npx wrangler tail."

function hintOn(status: number, type: string): string {
  if (status >= 500 && !type.endsWith('DoesNotExistException')) return PERHAPS_DONE
  if (status === 403) return ` ${TOKEN_VARIABLE} has to be the operatorToken of the Worker.`
  return type.endsWith('RouteNotFoundException')
    ? ' Either the Worker has no operatorToken, or this is a server on Node. Beside its ledger, ' +
        'leave --url out: give --data or --database-url.'
    : ''
}
