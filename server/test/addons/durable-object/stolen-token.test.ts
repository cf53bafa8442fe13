/** In workerd, too, one token that sends keeps nobody else waiting: counted in commits. */
import { describe, expect, test } from 'vitest'
import { ATTACKS, OF_THE_STOLEN, waitedFor } from '../../stolen-token.js'
import { handlerInWorkerd } from './handler.js'
import { COMMITS_HEADER } from './ledger-header.js'
import { hasWorkerd, unlessWorkerd } from './workerd-program.js'

const count = {
  begin: () => {},
  of: ({ headers }: Response) => Number(headers.get(COMMITS_HEADER)),
}

// A Worker has no metrics.
const { 'looks at the metrics': _, ...attacks } = ATTACKS

describe.skipIf(!hasWorkerd)(`in workerd${unlessWorkerd}, beside one token that sends`, () => {
  test.each(Object.entries(attacks))('a claim waits for few commits: %s', async (_, attack) => {
    const { alone, beside } = await waitedFor(attack, await handlerInWorkerd(OF_THE_STOLEN), count)
    expect(alone).toBeLessThanOrEqual(2)
    expect(beside).toBeLessThanOrEqual(3)
  })
})
