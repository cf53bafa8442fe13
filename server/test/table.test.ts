/** What the commands print: names come from devices, and may not deceive who reads them. */
import { expect, test } from 'vitest'
import { table } from '../src/cli/ledger-commands.js'

test('characters that turn text around or hide in it are written out', () => {
  const names = ['till\u202e3', 'ti\u200bll', 'a\u2066b', 'x\u2028y', 'Käse 3']
  const text = table<string>([['device', (name) => name]], names)
  expect(text.split('\n')).toEqual([
    'device',
    'till\\u{202e}3',
    'ti\\u{200b}ll',
    'a\\u{2066}b',
    'x\\u{2028}y',
    'Käse 3',
    '',
  ])
})
