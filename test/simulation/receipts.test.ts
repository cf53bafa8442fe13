/** The simulation's check of series notices each fault that must not happen. */
import { describe, expect, test } from 'vitest'
import type { SeriesState } from '../../src/addons/consecutive/state.js'
import type { Link, NumberRow } from '../../src/device/series-store.js'
import { Receipts } from './receipts.js'

const CURRENT = { letter: 'A', begun: 'a', token: 't', heard: 0 }
const HELD: SeriesState = { version: 1, ended: [], current: CURRENT }

const row = (number: number, more: Partial<NumberRow> = {}): NumberRow => ({
  letter: 'A',
  place: number,
  period: '',
  number,
  id: `A-${number}`,
  key: `sale ${number}`,
  state: 'open',
  takenAt: '2027-01-01T08:00:00.000Z',
  open: 1,
  ...more,
})

const linkOf = ({ id }: NumberRow, i: number, before?: NumberRow) =>
  ({ chain: 'A', at: i + 1, id, previous: before?.id ?? '', hash: id }) as Link

const device = (name: string, numbers: NumberRow[], state = HELD) => {
  const links = numbers.map((row, i) => linkOf(row, i, numbers[i - 1]))
  const record = { key: 'all', value: { state, numbers, links } }
  const disk = { stores: new Map([['receipts', new Map([['"all"', record]])]]) }
  return { name, disk, losses: new Set<string>() }
}

/** @param ledgers that gave the series, by device. Absent: there is one ledger */
function complaints(
  devices: object[],
  printed: [id: string, device: string, key: string][] = [],
  ledgers?: Record<string, string>,
) {
  const said: string[] = []
  const simulation = {
    hit: () => {},
    twoLedgers: { areThere: ledgers !== undefined, giverOf: (name: string) => ledgers?.[name] },
    checker: { complain: (what: string) => said.push(what), tolerate() {} },
  }
  const receipts = new Receipts(simulation as never, '')
  for (const [id, device, key] of printed) receipts.printed(id, { device, key })
  receipts.account(devices as never)
  return said
}

test('a complete series is fine; a hole or a number twice is a complaint', () => {
  expect(complaints([device('d1', [row(1), row(2)])], [['A-1', 'd1', 'sale 1']])).toEqual([])
  expect(complaints([device('d1', [row(1), row(3)])])).toEqual(['d1: A has a hole: A-1 A-3'])
  expect(complaints([device('d1', [row(1), row(1)])])).toEqual(['d1: A has a hole: A-1 A-1'])
})

test('a number that is neither of a sale nor cancelled for a reason is a complaint', () => {
  const { key: _, ...keyless } = row(1)
  expect(complaints([device('d1', [keyless])])).toHaveLength(1)
  expect(complaints([device('d1', [row(1, { state: 'cancelled' })])])).toHaveLength(1)
})

test('a receipt that was printed and is not stored is a complaint', () => {
  expect(complaints([device('d1', [row(1)])], [['A-2', 'd1', 'sale 2']])).toEqual([
    'd1 has lost A-2 of sale 2',
  ])
})

test('a number of which the server heard is made once, whatever a copy says', () => {
  const said: string[] = []
  const simulation = {
    hit: () => {},
    twoLedgers: { areThere: false, giverOf: () => undefined },
    checker: { complain: (what: string) => said.push(what), tolerate() {} },
  }
  const receipts = new Receipts(simulation as never, '')
  receipts.printed('A-1', { device: 'd1', key: 'sale 1', heard: true })
  receipts.printed('A-1', { device: 'd2', key: 'sale 2', heard: true })
  receipts.account([device('d1', []), device('d2', [])] as never)
  expect(said).toContain('A-1 was made twice although the server had heard of both')
})

test('one of two copies has to tell which numbers both may have made', () => {
  const printed: [string, string, string][] = [
    ['A-1', 'd1', 'sale 1'],
    ['A-1', 'd1-copy2', 'sale 2'],
  ]
  const first = device('d1', [row(1)])
  const second = row(1, { key: 'sale 2' })
  expect(complaints([first, device('d1-copy2', [second])], printed)).toEqual([
    'A-1 was made for sale 1 and sale 2, and nobody was told',
  ])
  const reason = { kind: 'copied', heard: 1, doubtful: { from: 1, to: 1 } } as const
  const ended: SeriesState = { version: 1, ended: [{ letter: 'A', token: 't', reason }] }
  expect(complaints([first, device('d1-copy2', [second], ended)], printed)).toEqual([])
})

test('a number that its own device made after it had closed the period is a complaint', () => {
  const closing = { count: 1, open: 0 }
  const P0 = { period: 'P0' }
  const rows = [row(1, { ...P0, closing }), row(2, P0), row(3, { period: 'P1', number: 1 })]
  expect(complaints([device('d1', rows)])).toEqual(['d1 made A-2 after its period was closed'])
  const { closing: _, ...opened } = rows[0]!
  expect(complaints([device('d1', [opened, rows[1]!, rows[2]!])])).toEqual([])
  const empty = { P1: { closing: { count: 0, open: 0 } } }
  const state = { ...HELD, current: { ...CURRENT, empty } }
  expect(complaints([device('d1', [opened, rows[2]!], state)])).toHaveLength(2)
})

test('two ledgers excuse only who has heard one of them, and is of another one', () => {
  const devices = [device('d1', [row(1)]), device('d1-copy2', [row(1, { key: 'sale 2' })])]
  const printed: [string, string, string][] = [
    ['A-1', 'd1', 'sale 1'],
    ['A-1', 'd1-copy2', 'sale 2'],
  ]
  expect(complaints(devices, printed, { d1: 'first', 'd1-copy2': 'second' })).toEqual([])
  expect(complaints(devices, printed, { d1: 'first', 'd1-copy2': 'first' })).toHaveLength(1)
})

test('a device that has heard of two ledgers makes no new number', () => {
  const said: string[] = []
  const simulation = {
    hit: () => {},
    twoLedgers: { areThere: true, giverOf: () => 'first' },
    checker: { complain: (what: string) => said.push(what), tolerate() {} },
  }
  const receipts = new Receipts(simulation as never, '')
  receipts.mustStop(device('d1', [row(1)]) as never)
  receipts.printed('A-1', { device: 'd1', key: 'sale 1' })
  expect(said).toEqual([])
  receipts.printed('A-2', { device: 'd1', key: 'sale 2' })
  expect(said).toEqual(['d1 made A-2 of sale 2, and had heard two ledgers'])
})

test('a number may come twice after its device lost its storage, not if none did', () => {
  const printed: [string, string, string][] = [
    ['A-1', 'd1', 'sale 1'],
    ['A-1', 'd1-copy2', 'sale 2'],
  ]
  const first = device('d1', [row(1)])
  const without = device('d1-copy2', [], { version: 1, ended: [] })
  const losing = (...losses: string[]) => ({ ...without, losses: new Set(losses) })
  expect(complaints([first, losing('storage evicted')], printed)).toEqual([])
  expect(complaints([first, losing()], printed)).toEqual([
    'A-1 was made twice, and no device had lost its storage',
  ])
})

test('two devices that are no copies make no number of one series', () => {
  const reason = { kind: 'copied', heard: 0, doubtful: { from: 1, to: 1 } } as const
  const ended: SeriesState = { version: 1, ended: [{ letter: 'A', token: 't', reason }] }
  const devices = [device('d1', [row(1)]), device('d2', [row(1, { key: 'sale 2' })], ended)]
  const printed: [string, string, string][] = [
    ['A-1', 'd1', 'sale 1'],
    ['A-1', 'd2', 'sale 2'],
  ]
  expect(complaints(devices, printed)).toEqual(['A-1 was made by devices that are no copies'])
})

test('a device that has kept its storage is not excused because another one lost its own', () => {
  const ended: SeriesState = { version: 1, ended: [] }
  const without = (name: string) => device(name, [], ended)
  const devices = [
    { ...device('d1', [row(1)]), losses: new Set(['storage evicted']) },
    without('d1-copy2'),
  ]
  const printed: [string, string, string][] = [
    ['A-1', 'd1', 'sale 1'],
    ['A-1', 'd1-copy2', 'sale 2'],
  ]
  expect(complaints(devices, printed)).toEqual([
    'A-1 was made twice, and no device had lost its storage',
  ])
})

describe('after a restore', () => {
  let said: string[]
  let tolerated: string[]
  let receipts: Receipts
  const till = (name: string, numbers: NumberRow[]) => ({ ...device(name, numbers), node: 'A' })
  const of = (number: number, key: string) =>
    row(number, { period: 'P0', id: `A-P0-${number}`, key })
  const lost = till('d1', [of(4, 'd1 4'), of(5, 'd1 5')])
  const taker = till('d2', [of(4, 'd2 4'), of(5, 'd2 5')])
  const other = till('d3', [of(5, 'd3 5')])
  const devices = [lost, taker, other] as never
  /** Who made number `n` of the period. */
  const printed = (n: number, ...by: string[]) => {
    for (const name of by)
      receipts.printed(`A-P0-${n}`, { device: name, key: `${name} ${n}`, heard: false })
  }
  const complained = () => {
    receipts.account(devices)
    return said.filter((what) => /was made (twice|for)/.test(what))
  }

  /** The series goes from d1 to d2, from number 5 on. */
  function begin({ isUnaware }: { isUnaware: boolean }) {
    said = []
    tolerated = []
    const simulation = {
      hit() {},
      devices,
      wasRestored: true,
      unawareOfRestore: new Set(isUnaware ? ['A'] : []),
      twoLedgers: { areThere: false, giverOf: () => undefined },
      checker: {
        complain: (what: string) => said.push(what),
        tolerate: (what: string) => tolerated.push(what),
      },
    }
    receipts = new Receipts(simulation as never, '')
    const periods = [{ period: 'P0', first: 1, last: 4 }]
    receipts.handedOver(lost as never, { letter: 'A', device: 'd2', periods } as never)
  }

  test('a server that does not know of it lets two make what the backup does not have', () => {
    begin({ isUnaware: true })
    printed(5, 'd1', 'd2')
    expect(complained()).toEqual([])
    expect(tolerated).toEqual(['a receipt of a server that did not know of its restore'])
  })

  test('a copy may make again what it heard of after its backup, and nothing else', () => {
    const copied = (isKept: boolean) => {
      begin({ isUnaware: false })
      receipts.printed('A-P0-5', { device: 'd2', key: 'one', heard: true })
      receipts.restored([], isKept ? receipts.heard() : new Set())
      receipts.printed('A-P0-5', { device: 'd2', key: 'another', heard: true })
      return complained()
    }
    expect(copied(false)).toEqual([])
    expect(tolerated).toEqual(['a receipt of a server that did not know of its restore'])
    expect(copied(true)).toContain('A-P0-5 was made twice although the server had heard of both')
  })

  test('a hand-over that it forgot lets two make what comes after it', () => {
    begin({ isUnaware: false })
    receipts.forgets([{ letter: 'A', takers: ['d2'] }], devices)
    printed(5, 'd1', 'd2')
    expect(complained()).toEqual([])
    expect(tolerated).toEqual(['a receipt of a hand-over that a restore had forgotten'])
  })

  test('of two hand-overs that it forgot, each lets two make what comes after it', () => {
    begin({ isUnaware: false })
    const periods = [{ period: 'P0', first: 1, last: 6 }]
    receipts.handedOver(taker as never, { letter: 'A', device: 'd3', periods } as never)
    receipts.forgets([{ letter: 'A', takers: ['d2', 'd3'] }], devices)
    printed(7, 'd2', 'd3')
    expect(complained()).toEqual([])
    expect(tolerated).toEqual(['a receipt of a hand-over that a restore had forgotten'])
    printed(6, 'd2', 'd3')
    expect(complained()).toHaveLength(1)
  })

  test('of two forgotten hand-overs to one device, the first one counts', () => {
    begin({ isUnaware: false })
    const periods = [{ period: 'P0', first: 1, last: 6 }]
    receipts.handedOver(lost as never, { letter: 'A', device: 'd2', periods } as never)
    receipts.forgets([{ letter: 'A', takers: ['d2', 'd2'] }], devices)
    printed(5, 'd1', 'd2')
    expect(complained()).toEqual([])
    expect(tolerated).toEqual(['a receipt of a hand-over that a restore had forgotten'])
  })

  test('a number of before a hand-over is told again when the series has come back', () => {
    begin({ isUnaware: false })
    printed(5, 'd2')
    const goesTo = (device: string, from: typeof lost) =>
      receipts.handedOver(
        from as never,
        { letter: 'A', device, periods: [{ period: 'P0', first: 1, last: 6 }] } as never,
      )
    goesTo('d1', taker)
    goesTo('d2', lost)
    printed(5, 'd2')
    printed(6, 'd2')
    complained()
    const low = said.filter((what) => what.includes('got its series'))
    expect(low).toEqual(['d2 made A-P0-6, and got its series from 7 on'])
  })

  test.each([true, false])('nothing else is made twice (a server that knows nothing: %s)', (is) => {
    const again = () => {
      begin({ isUnaware: is })
      if (!is) receipts.forgets([{ letter: 'A', takers: ['d2'] }], devices)
    }
    again()
    // The hand-over says that d1 made it.
    printed(4, 'd1', 'd2')
    expect(complained()).toHaveLength(1)
    expect(said).toContain('d2 made A-P0-4, and got its series from 5 on')
    again()
    // Neither of them had got the series.
    printed(5, 'd1', 'd3')
    expect(complained()).toHaveLength(1)
    again()
    printed(5, 'd1', 'd2')
    receipts.printed('A-P0-5', { device: 'd2', key: 'one more' })
    expect(complained()).toHaveLength(1)
  })
})
