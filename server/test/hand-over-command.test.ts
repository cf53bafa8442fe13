/** `series --hand-over`: whoever hands a series over has seen which document comes next. */
import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { Change } from '../src/cli/confirm.js'
import { planDrop } from '../src/cli/drop-command.js'
import { handOverSeries } from '../src/cli/hand-over-command.js'
import type { SeriesFlags } from '../src/cli/series-steps.js'
import { openLedger } from '../src/index.js'
import type { SeriesPeriod } from '../src/ledger/ledger.js'
import { newFolder } from './folders.js'
import { runCli } from './run-cli.js'

test('somebody who reads a plan, and says yes later, changes only what it shows', async () => {
  const ledger = await openLedger({ create: true, dataDir: newFolder() })
  const asked = { database: 'Shop', collection: 'receipts', at: Date.now() }
  const dropped = { ...asked, collection: 'orders' }
  await ledger.raiseFloor({ ...dropped, floor: 32 })
  const drop = await planDrop(ledger, dropped)
  for (const each of [asked, dropped])
    await ledger.claimSeries({ ...each, id: randomUUID(), device: 'Till 1' })
  const flags = { last: 9, period: false, collection: 'receipts', reason: 'lost', by: 'anna' }
  const plan = (to: string) => handOverSeries(ledger, 'Shop', 'A', { ...flags, to } as SeriesFlags)
  const [toOne, toOther] = [await plan('Till 2'), await plan('Till 3')]
  await (toOther as Change).apply(ledger)
  const before = await ledger.series('Shop')
  await expect((toOne as Change).apply(ledger)).rejects.toThrow(
    /^Meanwhile series A went to Till 3\. Nothing was changed\./,
  )
  await expect(drop.apply(ledger)).rejects.toThrow("Series of 'orders' of Shop are not closed: A.")
  expect(await ledger.series('Shop')).toEqual(before)
  await ledger.close()
})

describe('series --hand-over', () => {
  const LAST = ['--last', '131']
  const WHY = ['--to', 'Till 4', '--reason', 'stolen', '--by', 'anna']

  /**
   * @param periods that the till with the series T3 has told. Undefined: it never reported
   * @param doubtful places up to this one, of which a copy of the till has told
   */
  async function lostTill(last = 0, periods?: SeriesPeriod[], doubtful = 0) {
    const data = newFolder()
    const ledger = await openLedger({ create: true, dataDir: data })
    const asked = { database: 'Shop', at: Date.now() }
    const claim = { ...asked, collection: 'receipts', id: randomUUID(), name: 'T3' }
    const series = await ledger.claimSeries({ ...claim, device: 'Till 3' })
    if ('refused' in series) throw new Error(series.refused)
    const { token } = series
    if (last > 0) await ledger.checkInSeries({ ...asked, id: randomUUID(), token, last, periods })
    const ended = { letter: 'T3', token, from: 1, to: doubtful }
    const ofCopy = { ...asked, collection: 'receipts', id: randomUUID(), device: 'Till 3', ended }
    if (doubtful > 0) await ledger.claimSeries(ofCopy)
    await ledger.close()
    const run = (...args: string[]) => runCli(['series', 'Shop', ...args, '--data', data])
    return {
      handOver: (...args: string[]) =>
        run(...['--hand-over', 'T3', ...WHY, ...args], ...(args.includes('--last') ? [] : LAST)),
      list: async () => (await run()).stdout,
      restore: async () => {
        const restored = await openLedger({ dataDir: data })
        await restored.raiseFloors({ database: 'Shop', by: 1 })
        await restored.close()
      },
    }
  }

  test('of a till that never reported: nothing is done until its period was said', async () => {
    const { handOver, list } = await lostTill()
    const before = await list()
    const refused: [string[], string][] = [
      [[], 'no number of series T3, so it does not know whether its numbers have a period.'],
      [
        [],
        'T3-2027-000131 has the period 2027: say --new-period "2027". T3-000131 has ' +
          'none: say --no-period.',
      ],
      [['--period', '2027'], 'no number of series T3, so 2027 is no period that it knows.'],
      [['--period', ''], 'The period is empty. If the numbers have none, say --no-period.'],
      [['--period', '2027', '--new-period', '2027'], 'give one of them'],
      [['--new-period', '2027 '], 'The new period begins or ends with a space.'],
    ]
    for (const [args, message] of refused)
      expect(await handOver(...args, '--yes')).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(message),
      })
    expect(await list()).toBe(before)
    const { code, stdout } = await handOver('--new-period', '2027', '--yes')
    expect([code, stdout]).toEqual([
      0,
      "Series T3 of 'receipts' goes from Till 3 to Till 4.\n" +
        'The next document of 2027 is T3-2027-000132.\n' +
        'You say that number 131 of 2027 is the last one made. The server has heard of no ' +
        'number of 2027.\n' +
        'Any other period begins at 1.\n' +
        'The app may write it in another form: compare period and number with the last ' +
        'document.\n' +
        "Series T3 of 'receipts' goes to Till 4, which gets it when it asks for a series, and " +
        'goes on at 132 of 2027. The token that Till 3 had is void. If Till 3 comes back, what ' +
        'it has made after 131 of 2027 is doubtful, and it makes no number of the series any ' +
        'more.\n',
    ])
    expect(await list()).toContain('2027: 1 to 131')
  })

  test('of a period that is not known: refused, with those that are', async () => {
    const { handOver, list } = await lostTill(1025, [
      { period: '2025', first: 1, last: 901 },
      { period: '2026', first: 1, last: 124 },
    ])
    const before = await list()
    const known = 'The server has heard of these periods of series T3: 2025, 2026.'
    const refused: [string[], string][] = [
      [[], `${known} Say with --period of which --last is. Nothing was changed.`],
      [['--no-period'], `${known} Say with --period of which of them --last is.`],
      [['--period', '2062'], `${known} 2062 is not one of them.`],
      [['--new-period', '2026'], `${known} 2026 is not new.`],
      [['--period', '2025'], 'up to 901'],
    ]
    for (const [args, message] of refused)
      expect(await handOver(...args, '--yes')).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(message),
      })
    expect(await list()).toBe(before)
    expect((await handOver('--period', '2026', '--yes')).stdout).toContain(
      'The next document of 2026 is T3-2026-000132.\n' +
        'You say that number 131 of 2026 is the last one made. The server has heard of ' +
        'numbers up to 124.\n' +
        'In other periods it goes on with T3-2025-000902.\n',
    )
  })

  test('in a range, the next document has no period, and is in it', async () => {
    const first = { period: '101-131', first: 101, last: 120 }
    const { handOver } = await lostTill(20, [first])
    expect((await handOver('--period', '101-131', '--last', '125')).stderr).toContain(
      'The next document is T3-000126.\n' +
        'You say that number 125 of 101-131 is the last one made.',
    )
    expect((await handOver('--period', '101-131')).stderr).toContain(
      'The next document is the first one of a range above 131.\n',
    )
    expect((await handOver('--period', '101-131', '--last', '132')).stderr).toContain(
      'The range 101-131 goes from 101 to 131: 132 is not in it. Nothing was changed.\n',
    )
    // All that is stated or was heard of in ranges is below.
    const later = [
      { ...first, last: 131 },
      { period: '201-231', first: 201, last: 205 },
    ]
    expect((await (await lostTill(36, later)).handOver('--period', '101-131')).stderr).toMatch(
      /^Series T3 .*\nThe next document is T3-000206\.\nYou say .* up to 131\.\nThe app may .*\n/,
    )
  })

  test('after a restore, of a till that is lost, each period has to be said', async () => {
    const { handOver, restore } = await lostTill(1025, [
      { period: '2025', first: 1, last: 901 },
      { period: '2026', first: 1, last: 124 },
    ])
    await restore()
    const untold = 'The database was restored, and since then the device of series T3 has not told '
    const refused: [string[], string][] = [
      [['--period', '2026'], 'also of these: 2025. Say --other "2025=124".'],
      [['--new-period', '2027', '--no-other'], 'of these: 2025, 2026. Say --other "2026=124".'],
    ]
    for (const [args, message] of refused) {
      const { code, stderr } = await handOver(...args)
      expect([code, stderr]).toEqual([1, expect.stringContaining(untold)])
      expect(stderr).toContain(message)
    }
    const others = ['--other', '2025=902', '--other', '2026=124']
    expect((await handOver('--new-period', '2027', ...others)).stderr).toContain(
      'The next document of 2027 is T3-2027-000132.\nYou say that number 131 of 2027 is the last ' +
        'one made. The server has heard of no number of 2027.\nIn other periods it goes on with ' +
        'T3-2025-000903, T3-2026-000125.\n',
    )
    for (const other of ['2025', '=5', '2025=0', '2025=x'])
      expect(await handOver('--period', '2026', '--other', other)).toMatchObject({ code: 1 })
    const { handOver: ofSilent, restore: restoreSilent } = await lostTill()
    await restoreSilent()
    expect((await ofSilent('--new-period', '2027')).stderr).toContain(
      'If its documents have no other period, say --no-other. If they have: --other "2026=124".',
    )
    expect((await ofSilent('--new-period', '2027', '--no-other')).stderr).toContain(
      'The next document of 2027 is T3-2027-000132.\n',
    )
  })

  test('in a range that is full, numbers in doubt are said of the others', async () => {
    const { handOver } = await lostTill(
      5,
      [
        { period: '101-104', first: 101, last: 104 },
        { period: '201-204', first: 201, last: 201 },
      ],
      7,
    )
    const full = ['--period', '101-104', '--last', '104']
    expect((await handOver(...full)).stderr).toContain(
      'A copy of its device made 2 numbers more, and 101-104 has no more. So they are of another ' +
        'period. Say the last number of each, as in --other "201-204=203". Nothing was changed.',
    )
    expect((await handOver(...full, '--other', '201-204=203')).stderr).toContain(
      'The next document is T3-000204.',
    )
  })

  test('numbers without a period are said as the message says it', async () => {
    const { handOver, restore } = await lostTill(127, [
      { period: '', first: 1, last: 124 },
      { period: '2027', first: 1, last: 3 },
    ])
    expect((await handOver()).stderr).toContain(
      'of these periods of series T3: none (--no-period), 2027. Say with --period of which --last',
    )
    expect((await handOver('--no-period')).stderr).toContain('The next document is T3-000132.\n')
    await restore()
    const of2027 = ['--period', '2027']
    const { stderr } = await handOver(...of2027)
    expect(stderr).toContain('also of these: none (--other "=124"). Say --other "=124".')
    expect((await handOver(...of2027, '--other', '=124')).stderr).toContain(
      'The next document of 2027 is T3-2027-000132.\nYou say that number 131 of 2027 is the last ' +
        'one made. The server has heard of numbers up to 3.\nIn other periods it goes on with ' +
        // A number without a period is above all.
        'T3-000132.\n',
    )
  })

  test('without --yes it asks at the terminal, and elsewhere does nothing', async () => {
    const { handOver, list } = await lostTill(124)
    const before = await list()
    const unsaid = await handOver()
    expect(unsaid).toMatchObject({ code: 1, stdout: '' })
    expect(unsaid.stderr).toMatch(/^Series T3 .*\nThe next document is T3-000132\.\n/)
    expect(unsaid.stderr).toMatch(/Nothing was changed\. To do it, add --yes\.\n$/)
    for (const answer of ['no', '', 'y', 'of course']) {
      const { code, stderr } = await atTerminal(`${answer}\n`, () => handOver())
      expect([code, stderr.split('Is this right? (yes/no) ').length]).toEqual([1, 2])
      expect(stderr).toContain('The next document is T3-000132.')
      expect(stderr).toMatch(/\nIs this right\? \(yes\/no\) Nothing was changed\.\n$/)
    }
    // Ctrl-C, and a terminal that is closed.
    for (const typed of ['\x03', '\x04', 'yes\x03', '']) {
      const { code, stderr } = await atTerminal(typed, () => handOver(), true)
      expect([code, stderr]).toEqual([1, expect.stringMatching(/Nothing was changed\.\n$/)])
    }
    expect(await list()).toBe(before)
    const { code, stdout } = await atTerminal('yes\n', () => handOver())
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Series T3 of .* goes on at 132\./)])
  })
})

/** Runs a command with a terminal at which somebody types, and which may then be closed. */
async function atTerminal<T>(typed: string, work: () => Promise<T>, isClosed = false): Promise<T> {
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  const terminal = Object.assign(new PassThrough(), { isTTY: true })
  Object.defineProperty(process, 'stdin', { value: terminal, configurable: true })
  terminal.write(typed)
  if (isClosed) terminal.end()
  try {
    return await work()
  } finally {
    Object.defineProperty(process, 'stdin', stdin)
  }
}
