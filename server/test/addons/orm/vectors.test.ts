/**
 * What each ORM makes of its counter, block by block, as its own code did: every vector of
 * orm-hilo.json.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { idsOf } from '../../../src/addons/bound/orm/blocks.js'
import { type Binding, isSequence } from '../../../src/addons/bound/orm/counter-binding.js'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { bindingOf } from './bound.js'

interface Vector {
  system: string
  config: string
  blocks: { before: number | null; after: number; first: number; last: number }[]
}

type Settings = Omit<CounterOptions, 'maxId' | 'ids'>

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('orm-hilo.json', import.meta.url), 'utf8'),
)

const SEQUENCE = { sequence: 'seq' }
const ROW = { table: 'counter', column: 'next_val' }

/** The settings for each vector's system, and where it makes a difference, its configuration. */
const SETTINGS: [system: string, config: RegExp, settings: Settings][] = [
  [
    'EF Core UseHiLo (SQL Server / Npgsql)',
    /./,
    { strategy: 'efcore', ...SEQUENCE, blockSize: 10 },
  ],
  ['Hibernate pooled-lo', /./, { strategy: 'hibernate-pooled-lo', ...SEQUENCE, blockSize: 10 }],
  [
    'Hibernate pooled (default optimizer), >=5.6.8 / >=6.0',
    /./,
    { strategy: 'hibernate-pooled', ...SEQUENCE, blockSize: 10 },
  ],
  [
    'Hibernate pooled 4.3.11 .. 5.6.7',
    /./,
    { strategy: 'hibernate-pooled-before-5.6.8', ...SEQUENCE, blockSize: 10 },
  ],
  [
    'Hibernate pooled <=4.3.10 ; NHibernate enhanced pooled (all)',
    /./,
    { strategy: 'hibernate-pooled-before-4.3.11', ...SEQUENCE, blockSize: 10 },
  ],
  [
    'NHibernate enhanced pooled',
    /^TABLE/,
    { strategy: 'nhibernate-pooled', ...ROW, blockSize: 10 },
  ],
  [
    'NHibernate enhanced pooled-lo',
    /^SEQUENCE/,
    { strategy: 'nhibernate-pooled-lo', ...SEQUENCE, blockSize: 10 },
  ],
  [
    'NHibernate enhanced pooled-lo',
    /^TABLE/,
    { strategy: 'nhibernate-pooled-lo', ...ROW, blockSize: 10 },
  ],
  [
    'Hibernate hilo (HiLoOptimizer)',
    /./,
    { strategy: 'hibernate-hilo', ...SEQUENCE, blockSize: 10 },
  ],
  ['NHibernate enhanced hilo', /./, { strategy: 'hibernate-hilo', ...SEQUENCE, blockSize: 10 }],
  [
    'Hibernate TableGenerator + hilo',
    /./,
    { strategy: 'hibernate-table', segment: 'orders', optimizer: 'hilo', blockSize: 10 },
  ],
  [
    'Hibernate TableGenerator + pooled',
    /./,
    { strategy: 'hibernate-table', segment: 'orders', blockSize: 10 },
  ],
  [
    'Hibernate TableGenerator + pooled-lo',
    /stored_last_used=true/,
    { strategy: 'hibernate-table', segment: 'orders', optimizer: 'pooled-lo', blockSize: 10 },
  ],
  [
    'Hibernate TableGenerator + pooled-lo',
    /stored_last_used=false/,
    {
      strategy: 'hibernate-table-before-5.3',
      segment: 'orders',
      optimizer: 'pooled-lo',
      blockSize: 10,
    },
  ],
  [
    'Hibernate TableStructure (force_table_use) + pooled-lo',
    /./,
    { strategy: 'hibernate-pooled-lo', ...ROW, blockSize: 10 },
  ],
  [
    'Hibernate TableStructure (force_table_use) + hilo',
    /./,
    { strategy: 'hibernate-hilo', ...ROW, blockSize: 10 },
  ],
  [
    'Hibernate legacy SequenceHiLoGenerator (seqhilo)',
    /max_lo=9/,
    { strategy: 'hibernate-seqhilo', ...SEQUENCE, maxLo: 9 },
  ],
  [
    'Hibernate legacy TableHiLoGenerator',
    /max_lo=9/,
    { strategy: 'hibernate-hilo-table', ...ROW, maxLo: 9 },
  ],
  [
    'Hibernate legacy TableHiLoGenerator',
    /max_lo=10/,
    { strategy: 'hibernate-hilo-table', ...ROW, maxLo: 10 },
  ],
  [
    'Hibernate legacy MultipleHiLoPerTableGenerator',
    /max_lo=9/,
    { strategy: 'hibernate-multi-hilo-table', segment: 'orders', maxLo: 9 },
  ],
  [
    'Hibernate legacy-hilo optimizer via SequenceStyleGenerator',
    /./,
    { strategy: 'hibernate-seqhilo', ...SEQUENCE, maxLo: 10 },
  ],
  [
    'NHibernate hilo (TableHiLoGenerator)',
    /max_lo=9/,
    { strategy: 'nhibernate-hilo-table', ...ROW, maxLo: 9 },
  ],
  [
    'NHibernate hilo (TableHiLoGenerator)',
    /max_lo=10/,
    { strategy: 'nhibernate-hilo-table', ...ROW, maxLo: 10 },
  ],
  [
    'NHibernate hilo (TableHiLoGenerator)',
    /32767/,
    { strategy: 'nhibernate-hilo-table', ...ROW, maxLo: 32_767 },
  ],
  ['NHibernate seqhilo (>=5.1)', /./, { strategy: 'nhibernate-seqhilo', ...SEQUENCE, maxLo: 9 }],
  ['NHibernate seqhilo (<5.1)', /./, { strategy: 'nhibernate-seqhilo', ...SEQUENCE, maxLo: 9 }],
  ['Marten HiloSequence', /MaxLo=10$/, { strategy: 'marten', entity: 'order', maxLo: 10 }],
  ['Marten HiloSequence', /MaxLo=1000/, { strategy: 'marten', entity: 'order', maxLo: 1000 }],
  ['Doctrine ORM SequenceGenerator', /./, { strategy: 'doctrine', ...SEQUENCE, blockSize: 10 }],
  ['Doctrine DBAL TableGenerator', /./, { strategy: 'doctrine-table', segment: 'orders' }],
  ['Textbook (Wikipedia)', /./, { strategy: 'textbook', segment: 'orders', blockSize: 10 }],
]

/**
 * A strategy that the checks refuse: its ids are as they are, but Doctrine itself makes one of each
 * block twice.
 */
const REFUSED = 'Doctrine DBAL TableGenerator (as reserved range)'
/** It leaves out the first id of each block, which is then ours to use in our own. */
const LEAVES_OUT_FIRST = 'NHibernate seqhilo (<5.1)'

/** The values that moved the counter from `before` to `after`. */
function valuesTaken(
  { location, blocks: { step } }: Binding,
  before: number | null,
  after: number,
): bigint[] {
  const count = (from: bigint, to: bigint) =>
    Array.from({ length: Number((to - from) / step) }, (_, i) => from + BigInt(i) * step)
  if (isSequence(location))
    return before === null
      ? count(1n, BigInt(after) + step)
      : count(BigInt(before) + step, BigInt(after) + step)
  return count(before === null ? location.start! : BigInt(before), BigInt(after)).map(
    (stored) => stored + location.ahead,
  )
}

describe.each(vectors.filter(({ system }) => system !== REFUSED))(
  '$system, $config',
  ({ system, config, blocks }) => {
    const [, , settings] = SETTINGS.find(
      ([name, pattern]) => name === system && pattern.test(config),
    )!
    const binding = bindingOf(settings)

    test.each(blocks)(
      'counter $before to $after: $first to $last',
      ({ before, after, first, last }) => {
        const ids = valuesTaken(binding, before, after).flatMap(
          (value) => idsOf(binding.blocks, value) ?? [],
        )
        expect(ids.length).toBeGreaterThan(0)
        for (const [i, { high }] of ids.slice(0, -1).entries())
          expect(ids[i + 1]!.low).toBe(high + 1n)
        expect([Number(ids[0]!.low), Number(ids.at(-1)!.high)]).toEqual([
          first - (system === LEAVES_OUT_FIRST ? 1 : 0),
          last,
        ])
      },
    )
  },
)

test('every vector but the refused one is looked at', () => {
  expect(vectors.length).toBeGreaterThan(30)
  expect(vectors.filter(({ system }) => system === REFUSED)).toHaveLength(1)
})
