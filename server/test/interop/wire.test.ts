/**
 * RavenDB still answers as it is written down: `vitest -u` writes anew what it answers. The unit
 * tests compare this server with the recording.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type RavenServer,
  ravenMissing,
  startRavenDb,
  unlessRaven,
} from '../../../test/support/ravendb.js'
import { EXCHANGES } from '../wire/exchanges.js'
import { toText, transcribe } from '../wire/transcript.js'

describe.skipIf(ravenMissing)(`RavenDB${unlessRaven}`, () => {
  let raven: RavenServer
  beforeAll(async () => {
    raven = await startRavenDb()
  })
  afterAll(() => raven?.stop())

  test('answers as recorded', async () => {
    const transcript = await transcribe(EXCHANGES, async () => ({
      database: await raven.newDatabase(),
      send: (path, init) => fetch(raven.url + path, init),
    }))
    await expect(toText(transcript)).toMatchFileSnapshot('../wire/ravendb-7.1.5.txt')
  })
})
