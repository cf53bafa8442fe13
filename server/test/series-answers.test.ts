/** What `series` answers to somebody who holds a document, or asks for all of a series. */
import { expect, test } from 'vitest'
import { openLedger } from '../src/open-ledger.js'
import { newFolder } from './folders.js'
import { runCli } from './run-cli.js'

const KEY = { database: 'Shop', collection: 'receipts' }
const DAY_MS = 86_400_000
const BEGAN = Date.UTC(2026, 10, 1)
const LINK = { at: 133, hash: '3C464D' }
const REGISTER = { at: 245, hash: '5feceb' }

/** T3 of two tills, one after the other. The first one had a chain. */
async function twoTills() {
  const data = newFolder()
  const ledger = await openLedger({ create: true, dataDir: data })
  const claim = async (id: string, device: string, name?: string) => {
    const given = await ledger.claimSeries({ ...KEY, id, device, name, at: BEGAN })
    if ('refused' in given) throw new Error(given.refused)
    return given.token
  }
  const tell = (token: string, last: number, from: number, days: number, of?: object) =>
    ledger.checkInSeries({
      database: 'Shop',
      id: `tells ${last}`,
      token,
      last,
      periods: [{ period: '2026', first: from, last }],
      ...of,
      at: BEGAN + days * DAY_MS,
    })
  await tell(await claim('a', 'Till 3', 'T3'), 133, 1, 1, { link: LINK, register: REGISTER })
  await ledger.handOverSeries({
    ...{ ...KEY, letter: 'T3', to: 'Till 4', last: 135, period: '2026' },
    ...{ by: 'anna', reason: 'stolen', at: BEGAN + 2 * DAY_MS },
  })
  await tell(await claim('b', 'Till 4'), 140, 136, 11)
  await claim('c', 'Till 5', 'T3-2')
  const periods = ['FEA:2-40', 'FEA:41-80', 'SETP:41-80', 'SETP:2-40'].map((period) => {
    const [first, last] = period.endsWith('40') ? [2, 40] : [41, 80]
    return { period, first: first!, last: last! }
  })
  await tell(await claim('d', 'Till 6', 'T6'), 158, 1, 3, { periods })
  await tell(await claim('e', 'Till 7', 'T7'), 3, 1, 3, {
    periods: [{ period: '', first: 1, last: 3 }],
  })
  await tell(await claim('f', 'Till 8', 'T8'), 8, 1, 3, {
    periods: [{ period: '', first: 1, last: 2003 }],
  })
  await ledger.close()
  const series = (...args: string[]) => runCli(['series', 'Shop', ...args, '--data', data])
  return {
    document: async (text: string) => (await series('--document', text)).stdout,
    account: async (letter: string) => (await series('--account', letter)).stdout,
    series,
  }
}

test('who made a document, between when, and is it settled: by its own text', async () => {
  const { document, series } = await twoTills()
  const made = await document('t3-2026-000133')
  expect(made).toContain('receipts, series T3: Till 3 has made 133 in 2026;')
  expect(made).toContain('between 2026-11-01T00:00:00.000Z, when the series began, and 2026-11-12T')
  expect(made).toContain('Whether it is on a document or was cancelled, its report says.')
  expect(await document('T3-2026-000136')).toContain('Till 4 has made 136 in 2026;')
  // Why is 17 missing?
  expect(await document('T3-2026-000017')).toContain(
    'All numbers from 1 to 140 in 2026 were taken one after another, as devices told, or a ',
  )
  expect(await document('T3-2026-000141')).toMatch(
    /the server has not heard of 141.* What a device has made without a network, /,
  )
  expect(await document('T3-2-000001')).toMatch(/^receipts, series T3-2: the server has not heard/)
  expect(await series('--document', 'R-0000013')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^No series of Shop makes R-0000013\. .* explain Shop /),
  })
})

test('a document of a range is found by its prefix; one without a period has none', async () => {
  const { document, series } = await twoTills()
  for (const prefix of ['FEA', 'SETP'])
    for (const [number, range] of [2, 40, 41, 80].map((n) => [n, n > 40 ? '41-80' : '2-40']))
      expect(await document(`T6-${prefix}-${number}`)).toContain(
        `has made ${number} in ${prefix}:${range};`,
      )
  for (const text of ['T6-FEA-1', 'T6-FEA-81', 'T6-FEB-2'])
    expect(await document(text)).toContain('the server has not heard of')
  const plain = await document('T7-3')
  expect(plain).toContain('has made 3; last heard of')
  expect(plain).toContain('All numbers from 1 to 3 were taken')
  for (const text of ['T7-0', `T7-${2 ** 53}`])
    expect((await series('--document', text)).stderr).toContain(`No series of Shop makes ${text}.`)
})

test('of a series with a hole it is not said that no number was left out', async () => {
  const { document, account } = await twoTills()
  const said = await document('T8-2001')
  expect(said).toContain('has made 2001; last heard of')
  expect(said).not.toContain('All numbers from')
  expect(await account('T8')).not.toContain('left out')
})

test('what is known of a series, and what nobody has told, in words', async () => {
  const { account, series } = await twoTills()
  const told = await account('t3')
  for (const part of [
    "Series T3 of 'receipts' began 2026-11-01T00:00:00.000Z.",
    '1 to 135 of 2026, by Till 3',
    '136 to 140 of 2026, by Till 4',
    'No number between the first and the last of a period was left out',
    'anna handed the series over to Till 4 2026-11-03T00:00:00.000Z',
    'The last record of Till 3 that the server has heard of is of its number 133',
    'The server has heard of Till 4 last 2026-11-12T00:00:00.000Z.',
    'not at which time it made each one',
    'The register of Till 3 had 245 entries when the server heard of it last, the last one with ' +
      'the hash 5feceb. If its export has another hash at entry 245, or none, ',
    'Till 4 has not told of its register',
    'not told which of them are on a document, and which were cancelled',
  ])
    expect(told).toContain(part)
  expect((await series('--account', 'T9')).stderr).toContain('There is no series T9')
})

test('who closes a series accounts for a number that was heard of and not printed', async () => {
  const { account, document, series } = await twoTills()
  const unclear = 'has no entry of its last number: T3-2026-000140 may not exist'
  expect(await account('T3')).toContain(unclear)
  const reason = 'Till 4 lost its storage, T3-2026-000140 was not printed'
  const closing = ['--close', 'T3', '--by', 'anna', '--reason', reason]
  expect((await series(...closing)).stderr).toContain(
    'The last document of which the server has heard is T3-2026-000140. If it does not exist, ' +
      'say so in --reason.',
  )
  await series(...closing, '--yes')
  for (const told of [await account('T3'), await document('T3-2026-000140')])
    expect(told).toContain(`by anna: ${reason}.`)
  expect(await account('T3')).not.toContain(unclear)
})
