/**
 * Which tests judge a mutant: those that run its code, the quickest files first. One run of all
 * tests with probes in the code tells them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path/posix'
import type { RanTest, TestsOfFile } from './judge.js'
import type { Lane } from './lane.js'
import type { Mutant } from './mutants.js'
import { withProbes } from './probes.js'

/** Folders and files, in whose functions mutants are made. */
export const SOURCES = [
  'src/core',
  'src/device',
  'src/worker',
  'src/client',
  'src/store',
  'src/source',
  'src/addons/consecutive',
  'src/addons/sqlite',
  'src/addons/format.ts',
  'src/addons/raven.ts',
  'src/addons/textbook.ts',
  'server/src/ledger',
  'server/src/sql',
  'server/src/http',
  'server/src/sqlite',
  'server/src/node',
  'server/src/cli',
  ...['config-file', 'drain', 'open-ledger', 'serve', 'settings'].map(
    (name) => `server/src/${name}.ts`,
  ),
  // What runs in a Durable Object, no probe of this process tells.
  ...['bound', 'postgres', 'region', 'upstream'].map((name) => `server/src/addons/${name}`),
]
/** The beginnings of the names of tests whose code runs in one process, with its databases. */
const TESTS = [
  ...['addons', 'client', 'core', 'device', 'source', 'store', 'worker'].map(
    (folder) => `test/${folder}/`,
  ),
  ...[
    ...['access', 'addons/orm/', 'addons/region/', 'backup', 'budgets', 'cautions', 'claim-queue'],
    ...['cli', 'counter-hook', 'documents', 'failure-log', 'foreign-lock', 'gate'],
    ...['hand-over-command', 'hilo-routes', 'identity-routes', 'ledger/', 'listed-series', 'log'],
    ...['open', 'operation', 'origin', 'overwritten', 'pacer', 'postgres-', 'production'],
    ...['restarts', 'restores', 'same-ledger', 'series-', 'shown-settings', 'sqlite-ledger'],
    ...['table', 'upstream', 'went-back', 'wire'],
  ].map((name) => `server/test/${name}`),
]
const FILES_AT_ONCE = 12

/** @returns of each mutant, the tests that judge it */
export async function judging(
  repository: string,
  mutants: readonly Mutant[],
  inLanes: <Result>(
    items: readonly string[][],
    work: (lane: Lane, item: string[]) => Promise<Result>,
  ) => Promise<Result[]>,
): Promise<TestsOfFile[][]> {
  const changed = [...new Set(mutants.map(({ file }) => file))]
  const versions = changed.map((file) => ({
    file,
    source: withProbes(
      readFileSync(join(repository, file), 'utf8'),
      new Map([...mutants.entries()].filter(([, mutant]) => mutant.file === file)),
    ),
  }))
  const answers = await inLanes(inParts(testsOf(repository)), (lane, part) =>
    lane.with(versions, () =>
      lane.test(
        part.map((file) => ({ file })),
        { all: true },
      ),
    ),
  )
  const reaching = mutants.map((): RanTest[] => [])
  for (const test of answers.flatMap(({ ran }) => ran))
    for (const mutant of test.reached) reaching[mutant]!.push(test)
  return reaching.map(quickestFirst)
}

const testsOf = (repository: string): string[] =>
  ['test', 'server/test']
    .flatMap((folder) =>
      readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map(
        (path) => `${folder}/${path}`,
      ),
    )
    .filter((path) => path.endsWith('.test.ts') && TESTS.some((test) => path.startsWith(test)))

/** So that several processes take about as long. */
function inParts(files: readonly string[]): string[][] {
  const parts = Array.from({ length: Math.ceil(files.length / FILES_AT_ONCE) }, (): string[] => [])
  for (const [i, file] of files.entries()) parts[i % parts.length]!.push(file)
  return parts
}

function quickestFirst(tests: readonly RanTest[]): TestsOfFile[] {
  const files = new Map<string, { file: string; ids: string[]; ms: number }>()
  for (const { file, id, ms } of tests) {
    const known = files.get(file) ?? { file, ids: [], ms: 0 }
    files.set(file, { file, ids: [...known.ids, id], ms: known.ms + ms })
  }
  return [...files.values()].sort((a, b) => a.ms - b.ms)
}
