/** The options of a Worker that are refused: what would only fail later, or let in too many. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  checkWorkerOptions,
  type HiloWorkerOptions,
} from '../../../src/addons/durable-object/worker-options.js'

const OPERATOR = 'operator-of-the-tests'
const given = (more: Partial<HiloWorkerOptions>) =>
  checkWorkerOptions({ databases: ['Shop'], ...more })

test.each([
  ['with a line break at its end', `${OPERATOR}\n`, 'operatorToken: a token has no spaces'],
  ['with a space inside', 'operator of the tests', 'operatorToken: a token has no spaces'],
  ['that is short', 'operator', 'operatorToken: a token has at least 16 characters'],
  ['that is empty', '', 'operatorToken: a token has'],
])('an operator token %s, which nobody could send, is refused', (_, operatorToken, message) => {
  expect(() => given({ operatorToken })).toThrow(message)
})

const HASH = `sha256:${createHash('sha256').update(OPERATOR).digest('hex')}`

test.each([[[OPERATOR]], [['another-token-of-them', { token: OPERATOR }]], [[HASH]]])(
  "a token of the clients is not the operator's, too: %j",
  (tokens) => {
    expect(() => given({ tokens, operatorToken: OPERATOR })).toThrow(
      'operatorToken: is among tokens',
    )
    expect(given({ tokens, operatorToken: `${OPERATOR}-2` }).operatorToken).toBe(`${OPERATOR}-2`)
  },
)
