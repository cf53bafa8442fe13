/** Waiting for a driver that starts. */
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.js'
import { openSession } from './webdriver.js'

test('no call waits for a driver that has ended', async () => {
  const ended = AbortSignal.abort(new Error('The driver ended.'))
  await expect(openSession(`http://127.0.0.1:${await freePort()}`, {}, ended)).rejects.toThrow(
    'The driver ended.',
  )
})
