/**
 * The specifications in `spec/`, explored to the end of their bounds: they hold with all rules, and
 * each rule that is taken out is missed. Each limit that is named is one.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { explore, unlessTlc } from '../support/tlc.js'

const leftOut = unlessTlc()
const PATIENCE = 300_000

type Case = [what: string, changed: Record<string, string>, broken: string | undefined]

function holds(
  module: string,
  constants: Record<string, string>,
  invariants: readonly string[],
  cases: readonly Case[],
): void {
  const file = join(import.meta.dirname, `../../spec/${module}.tla`)
  describe(`${module}.tla${leftOut}`, () => {
    test.skipIf(leftOut).each(cases)('%s', { timeout: PATIENCE }, (_, changed, broken) => {
      expect(explore(file, { ...constants, ...changed }, invariants)).toBe(broken)
    })
  })
}

const SERIES = {
  MostNumbers: '2',
  MostCheckIns: '4',
  MostSales: '3',
  MayGoOn: 'TRUE',
  HeardFirst: 'TRUE',
  OwnAnswer: 'TRUE',
  SameId: 'TRUE',
  IdsRemembered: 'TRUE',
}

holds(
  'Series',
  SERIES,
  ['NoNumberTwice', 'NoFalseCopy'],
  [
    ['holds with all rules', {}, undefined],
    ['needs HeardFirst', { HeardFirst: 'FALSE' }, 'NoNumberTwice'],
    ['needs OwnAnswer', { OwnAnswer: 'FALSE' }, 'NoNumberTwice'],
    ['needs SameId', { SameId: 'FALSE' }, 'NoFalseCopy'],
    ['needs IdsRemembered', { IdsRemembered: 'FALSE' }, 'NoFalseCopy'],
  ],
)

const RANGES = {
  Size: '2',
  MostCheckIns: '4',
  AsksFirst: 'TRUE',
  OwnCheckIn: 'TRUE',
  TokenReplaced: 'TRUE',
  CopyHeard: 'TRUE',
  IdsRemembered: 'TRUE',
  CutAtHigh: 'TRUE',
  MayGoOn: 'FALSE',
  MayRunBeside: 'FALSE',
}

holds(
  'Ranges',
  RANGES,
  ['NoNamedNumberTwice', 'NoNamedNumberFreed', 'NoFalseCopy'],
  [
    ['holds with all rules', {}, undefined],
    ['needs AsksFirst', { AsksFirst: 'FALSE' }, 'NoNamedNumberTwice'],
    ['needs OwnCheckIn', { OwnCheckIn: 'FALSE' }, 'NoNamedNumberTwice'],
    ['needs TokenReplaced', { TokenReplaced: 'FALSE' }, 'NoNamedNumberTwice'],
    ['needs IdsRemembered', { IdsRemembered: 'FALSE' }, 'NoFalseCopy'],
    ['has the limit MayGoOn', { MayGoOn: 'TRUE' }, 'NoNamedNumberTwice'],
    ['has the limit MayRunBeside', { MayRunBeside: 'TRUE' }, 'NoNamedNumberTwice'],
  ],
)

// A copy beside its running original: no number that was named goes back to the server.
holds(
  'Ranges',
  { ...RANGES, MostCheckIns: '3', MayRunBeside: 'TRUE' },
  ['NoNamedNumberFreed', 'NoFalseCopy'],
  [
    ['holds beside a copy', {}, undefined],
    ['needs CutAtHigh beside a copy', { CutAtHigh: 'FALSE' }, 'NoNamedNumberFreed'],
    ['needs CopyHeard beside a copy', { CopyHeard: 'FALSE' }, 'NoNamedNumberFreed'],
  ],
)
