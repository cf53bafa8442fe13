/** Doctrine itself stores orders while this server grants ranges of the same ids. */
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { doctrine, unless } from '../../../test/support/programs.js'
import { type BackEnd, meet } from './meeting.js'

const php =
  (kind: string): BackEnd['command'] =>
  ({ hostname, port, pathname }, isFirst) => ({
    program: doctrine.find()!,
    args: [
      join(import.meta.dirname, 'DoctrineTaker.php'),
      ...[hostname, port, pathname.slice(1), kind, isFirst ? 'create' : ''],
    ],
  })

const BACK_ENDS: BackEnd[] = [
  {
    title: 'SequenceGenerator',
    settings: {
      strategy: 'doctrine',
      sequence: 'order_seq',
      blockSize: 10,
      maxId: 'int4',
      ids: false,
    },
    block: 10,
    command: php('sequence'),
  },
  {
    title: 'TableGenerator of DBAL 3',
    settings: { strategy: 'doctrine-table', segment: 'orders', maxId: 'int4', ids: false },
    block: 1,
    command: php('table'),
    beforehand: [
      {
        refusal: 'no primary key',
        remedy: { sql: 'ALTER TABLE sequences ADD PRIMARY KEY (sequence_name)' },
      },
      { refusal: 'start once with --first', remedy: '--first' },
    ],
  },
]

describe.runIf(doctrine.find())(`Doctrine${unless(doctrine)}`, () => {
  test.each(BACK_ENDS)('$title', (backEnd) => meet(backEnd, 200))
})
