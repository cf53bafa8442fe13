/** After a restore, a person lists the series that exist, at the command line. */
import { expect, test } from 'vitest'
import { openLedger } from '../src/open-ledger.js'
import { newFolder } from './folders.js'
import { runCli } from './run-cli.js'

test('names and ranges stay closed until all that exist are listed', async () => {
  const data = newFolder()
  const ledger = await openLedger({ create: true, dataDir: data })
  const key = { database: 'Shop', collection: 'receipts' }
  const claim = (id: string, name: string) =>
    ledger.claimSeries({ ...key, id, device: 'Till', name, at: 0 })
  await claim('a', 'T3')
  const run = (...args: string[]) => runCli([...args, '--data', data])
  const series = (...args: string[]) => run('series', 'Shop', ...args)
  const receipts = ['--collection', 'receipts']
  expect((await series('--all-listed')).stdout).toContain('gives names and ranges already')
  const raised = await run('raise-floor', 'Shop', '--all', '--by', '100', '--yes')
  expect(raised.stdout).toMatch(/\nNames of series, and ranges of an authority, are given again /)
  expect((await series()).stdout).toMatch(/T3.*\nThe database was restored\. It gives no name /s)
  expect(await claim('b', 'T9')).toEqual({ refused: 'unlisted' })
  const give = ['--give', 'T3', '--range', '1-9']
  expect((await series(...give, '--yes')).stderr).toContain('with --again. List the series, too')
  expect((await series(...give, '--again', '--yes')).stdout).toContain('has the numbers 1 to 9')
  const refused: [string[], string][] = [
    [['--exists', 'T9'], '--exists needs the --collection'],
    [['--exists', 'T 9', ...receipts], 'T 9 is no name of a series. Nothing was changed.'],
    [['--exists', 'T9', ...receipts], 'Nothing was changed. To do it, add --yes.'],
  ]
  for (const [args, message] of refused)
    expect(await series(...args)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  expect((await series('--exists', 'T9', ...receipts, '--yes')).stdout).toContain('T9 of')
  expect((await series('--exists', 't9', ...receipts)).stdout).toContain('Nothing was changed')
  // A letter, too, may have been given after the backup, with a range.
  const toLetter = ['--give', 'C', '--range', '11-19', '--again', '--yes']
  expect((await series(...toLetter)).stderr).toContain(
    'list it first: npx offline-hilo-server series Shop --exists C --collection <collection>.',
  )
  expect((await series('--exists', 'C', ...receipts, '--yes')).stdout).toContain('C of')
  expect((await series(...toLetter)).stdout).toContain('has the numbers 11 to 19')
  expect((await series('--all-listed')).stderr).toMatch(
    /^These series of Shop exist: receipts T3 with 1 to 9; receipts T9; receipts C with 11 to 19\./,
  )
  expect(await claim('c', 'T10')).toEqual({ refused: 'unlisted' })
  expect((await series('--all-listed', '--yes')).stdout).toContain('gives names and ranges again')
  expect(await claim('d', 't9')).toEqual({ refused: 'taken' })
  expect(await claim('e', 'T10')).toMatchObject({ name: 'T10' })
  expect((await series()).stdout).not.toContain('The database was restored.')
  await ledger.close()
})

test('a range that no device would use is refused, with what to do', async () => {
  const data = newFolder()
  const ledger = await openLedger({ create: true, dataDir: data })
  const key = { database: 'Shop', collection: 'receipts' }
  const given = await ledger.claimSeries({ ...key, id: 'a', device: 'Till', name: 'T3', at: 0 })
  const { token } = given as Extract<typeof given, { token: string }>
  const periods = [{ period: '2001-3000', first: 2001, last: 2005 }]
  await ledger.checkInSeries({ database: 'Shop', id: 'b', token, last: 5, periods, at: 1 })
  const give = (...args: string[]) =>
    runCli(['series', 'Shop', '--give', 'T3', ...args, '--data', data])
  const refused: [string[], string][] = [
    [['--range', '1-9'], 'Series T3 has made number 2005, and goes on above it'],
    [['--range', '1-9', '--prefix', 'a b'], '--prefix has 1 to 20 of'],
    [['--range', '3001-4000', '--until', '2020-12-31'], '2020-12-31 has passed'],
  ]
  for (const [args, message] of refused)
    expect(await give(...args, '--yes')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  expect((await give('--range', '1-9', '--prefix', 'SETP')).stderr).toContain(
    'gets the numbers 1 to 9 of SETP.\nThe next document is T3-SETP-000001, where',
  )
  expect((await give('--range', '2001-3000', '--yes')).stdout).toContain('document is T3-002006,')
  expect((await give('--range', '1-9', '--prefix', 'SETP', '--yes')).stdout).toContain(
    'has the numbers 1 to 9 of SETP',
  )
  await ledger.close()
})
