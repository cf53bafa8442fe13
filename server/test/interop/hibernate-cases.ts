/** How HibernateTaker.java maps its orders, and how the server is bound to the same counter. */
import type { BackEnd } from './meeting.js'
import type { HIBERNATE } from './peers.js'

export const BLOCK = 10
export const IDS = 'orders.id'
const maxId = 'int8'
type Case = Pick<BackEnd, 'title' | 'settings' | 'beforehand'> & {
  block?: number
  /** What HibernateTaker.java is to map the orders by. */
  mapping: string[]
}

export const onSequence = { sequence: 'order_seq', maxId, ids: false } as const
const FETCHES_TWICE: BackEnd['beforehand'] = [
  { refusal: 'Let the back end make one id', remedy: 'first id' },
]
const NO_ROW: BackEnd['beforehand'] = [{ refusal: 'There is no row for', remedy: 'first id' }]
const enhancedSequence = (optimizer: string, ...more: string[]) => [
  'enhanced-sequence',
  'sequence_name=order_seq',
  `increment_size=${BLOCK}`,
  `optimizer=${optimizer}`,
  ...more,
]
const enhancedTable = (optimizer: string) => [
  'enhanced-table',
  'segment_value=orders',
  `increment_size=${BLOCK}`,
  `optimizer=${optimizer}`,
]
const preferred = (optimizer: string) => `hibernate.id.optimizer.pooled.preferred=${optimizer}`
const ownTable = {
  strategy: 'hibernate-table',
  table: 'id_rows',
  keyColumn: 'kind',
  column: 'last_id',
  segment: 'Order',
  blockSize: BLOCK,
  maxId,
  ids: false,
} as const

export const CASES: Record<keyof typeof HIBERNATE, Case[]> = {
  '3.6': [
    {
      title: 'seqhilo',
      settings: { strategy: 'hibernate-seqhilo', ...onSequence, maxLo: BLOCK - 1 },
      mapping: ['seqhilo', 'sequence=order_seq', `max_lo=${BLOCK - 1}`],
    },
    {
      title: 'hilo, one row for all',
      settings: {
        strategy: 'hibernate-hilo-table',
        table: 'hibernate_unique_key',
        column: 'next_hi',
        maxLo: BLOCK - 1,
        maxId: 'int4',
        ids: false,
      },
      mapping: ['hilo', `max_lo=${BLOCK - 1}`],
    },
    {
      title: 'MultipleHiLoPerTableGenerator',
      settings: {
        strategy: 'hibernate-multi-hilo-table',
        segment: 'orders',
        maxLo: BLOCK - 1,
        maxId: 'int4',
        ids: false,
      },
      beforehand: [
        {
          refusal: 'no primary key',
          remedy: { sql: 'ALTER TABLE hibernate_sequences ADD PRIMARY KEY (sequence_name)' },
        },
        { refusal: 'There is no row for', remedy: '--first' },
      ],
      mapping: ['org.hibernate.id.MultipleHiLoPerTableGenerator', `max_lo=${BLOCK - 1}`],
    },
    {
      title: 'pooled, on a sequence',
      settings: { strategy: 'hibernate-pooled-before-4.3.11', ...onSequence, blockSize: BLOCK },
      beforehand: FETCHES_TWICE,
      mapping: enhancedSequence('pooled'),
    },
    {
      title: 'pooled, in a table',
      settings: {
        strategy: 'hibernate-pooled-before-4.3.11',
        table: 'order_seq',
        column: 'next_val',
        blockSize: BLOCK,
        maxId,
        ids: false,
      },
      beforehand: FETCHES_TWICE,
      mapping: enhancedSequence('pooled', 'force_table_use=true'),
    },
    {
      title: 'table, pooled',
      settings: {
        strategy: 'hibernate-table-before-5.3',
        segment: 'orders',
        optimizer: 'pooled-before-4.3.11',
        blockSize: BLOCK,
        maxId,
        ids: false,
      },
      beforehand: NO_ROW,
      mapping: enhancedTable('pooled'),
    },
  ],
  '5.2.10': [
    {
      title: 'hilo, on a sequence',
      settings: { strategy: 'hibernate-hilo', ...onSequence, blockSize: BLOCK },
      mapping: enhancedSequence('hilo'),
    },
    {
      title: 'table, pooled',
      settings: {
        strategy: 'hibernate-table-before-5.3',
        segment: 'orders',
        optimizer: 'pooled-before-5.6.8',
        blockSize: BLOCK,
        maxId,
        ids: false,
      },
      beforehand: NO_ROW,
      mapping: enhancedTable('pooled'),
    },
  ],
  '5.6.7': [
    {
      title: 'pooled, on a sequence',
      settings: { strategy: 'hibernate-pooled-before-5.6.8', ...onSequence, blockSize: BLOCK },
      beforehand: FETCHES_TWICE,
      mapping: enhancedSequence('pooled'),
    },
    {
      title: 'table, pooled',
      settings: {
        strategy: 'hibernate-table',
        segment: 'orders',
        optimizer: 'pooled-before-5.6.8',
        blockSize: BLOCK,
        maxId,
        ids: false,
      },
      beforehand: FETCHES_TWICE,
      mapping: enhancedTable('pooled'),
    },
  ],
  '5.6.8': [
    {
      title: 'pooled, on a sequence',
      settings: { strategy: 'hibernate-pooled', ...onSequence, blockSize: BLOCK },
      mapping: enhancedSequence('pooled'),
    },
    {
      title: 'pooled-lo, in a table',
      settings: {
        strategy: 'hibernate-pooled-lo',
        table: 'order_seq',
        column: 'next_val',
        blockSize: BLOCK,
        maxId,
        ids: false,
      },
      mapping: enhancedSequence('pooled-lo', 'force_table_use=true'),
    },
  ],
  '6.6': [
    {
      title: '@GeneratedValue(SEQUENCE)',
      settings: {
        strategy: 'hibernate-pooled',
        sequence: 'orders_seq',
        blockSize: 50,
        maxId,
        ids: false,
      },
      block: 50,
      mapping: ['DefaultSequence'],
    },
    {
      title: '@GeneratedValue(TABLE)',
      settings: {
        strategy: 'hibernate-table',
        segment: 'default',
        blockSize: 50,
        maxId,
        ids: false,
      },
      block: 50,
      mapping: ['DefaultTable'],
    },
  ],
  '7.1': [
    {
      title: '@SequenceGenerator',
      settings: { strategy: 'hibernate-pooled', ...onSequence, blockSize: BLOCK },
      mapping: ['OwnSequence'],
    },
    {
      title: '@SequenceGenerator, pooled-lo',
      settings: { strategy: 'hibernate-pooled-lo', ...onSequence, blockSize: BLOCK },
      mapping: ['OwnSequence', preferred('pooled-lo')],
    },
    {
      title: '@SequenceGenerator, hilo',
      settings: { strategy: 'hibernate-hilo', ...onSequence, blockSize: BLOCK },
      mapping: ['OwnSequence', preferred('hilo')],
    },
    {
      title: '@SequenceGenerator, legacy-hilo',
      settings: { strategy: 'hibernate-seqhilo', ...onSequence, maxLo: BLOCK },
      mapping: ['OwnSequence', preferred('legacy-hilo')],
    },
    {
      title: '@TableGenerator with a name only',
      settings: {
        strategy: 'hibernate-table',
        table: 'order_ids',
        segment: 'orders',
        blockSize: 50,
        maxId,
        ids: false,
      },
      block: 50,
      mapping: ['NamedTable'],
    },
    {
      title: '@TableGenerator, pooled-lo',
      settings: { ...ownTable, optimizer: 'pooled-lo' },
      mapping: ['OwnTable', preferred('pooled-lo')],
    },
    {
      title: '@TableGenerator, hilo',
      settings: { ...ownTable, optimizer: 'hilo' },
      mapping: ['OwnTable', preferred('hilo')],
    },
  ],
}

/** Bindings that nothing contradicted, and that made ids twice. */
export const WRONG: { [K in keyof typeof HIBERNATE]?: (Case & { said: RegExp })[] } = {
  '3.6': [BLOCK - 2, BLOCK].map((maxLo) => ({
    title: `maxLo ${maxLo} beside max_lo ${BLOCK - 1}`,
    settings: {
      strategy: 'hibernate-hilo-table',
      table: 'hibernate_unique_key',
      column: 'next_hi',
      maxLo,
      maxId: 'int4',
      ids: false,
    },
    mapping: ['hilo', `max_lo=${BLOCK - 1}`],
    said: /Not proved|ids would come twice/,
  })),
  '5.6.7': [
    {
      title: 'pooled-lo beside pooled',
      settings: { strategy: 'hibernate-pooled-lo', ...onSequence, blockSize: BLOCK },
      mapping: enhancedSequence('pooled'),
      said: /hibernate-pooled.* makes what was made/,
    },
  ],
}
