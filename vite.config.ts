import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { hasWorkerd } from './server/test/addons/durable-object/workerd-program.js'
import { ISOLATED } from './test/support/isolated.js'
import { WaitingFirst } from './test/support/order.js'
import { endAllWithThisProcess } from './test/support/run-end.js'
import { isBrief, isFull, leftOut } from './test/support/sizes.js'

// Other programs read this file, too.
if (process.env.VITEST) endAllWithThisProcess()

/** `npm run test:interop`, and everything. */
const hasInterop = isFull || process.argv.includes('interop')

const SHARED_POSTGRES = './server/test/shared-postgres.ts'

/** Files about the handler that run a second time, with the handler in workerd. */
const IN_WORKERD = [
  'hilo-routes',
  'series-limits',
  'series-routes',
  ...(isFull ? ['access', 'documents', 'fuzz', 'identity-routes', 'origin', 'wire'] : []),
].map((name) => `server/test/${name}.test.ts`)

/** At the end of each file, undoes what it has replaced or opened. */
const EACH_FILE = { setupFiles: './test/support/each-file.ts' }

/**
 * Files share a process and its modules: 66 files of the client took 82 seconds of a processor with
 * modules loaded anew for each, and 44 without.
 */
const SHARED_PROCESS = { ...EACH_FILE, isolate: false }

/**
 * More than cores: many tests wait for a database, a browser or another process. All projects have
 * the same, because at small size they run beside each other.
 */
const WORKERS = { maxWorkers: availableParallelism() + 2 }

/**
 * At full size other engines join in, which do not start on a busy machine: one project after the
 * other.
 */
const after = (others: number) => ({ sequence: { groupOrder: isFull ? others : 0 } })

const unit = {
  ...EACH_FILE,
  ...WORKERS,
  globalSetup: SHARED_POSTGRES,
  // Property tests and real databases, on two cores that forty processes share.
  testTimeout: 180_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000 } },
}

/** The handler in a Durable Object: see server/test/handlers.ts. */
const inWorkerd: TestProjectConfiguration = {
  test: {
    ...unit,
    name: 'unit-workerd',
    include: IN_WORKERD,
    provide: { place: 'workerd' },
    setupFiles: [EACH_FILE.setupFiles, './server/test/addons/durable-object/in-workerd.ts'],
  },
}

const interop: TestProjectConfiguration = {
  test: { ...unit, name: 'interop', include: ['server/test/interop/*.test.ts'] },
}

export default defineConfig({
  test: {
    // What a test prints is shown when it fails.
    silent: 'passed-only',
    sequence: { sequencer: WaitingFirst },
    reporters: isFull
      ? ['default', ['json', { outputFile: 'test-results/tests.json' }]]
      : ['default'],
    projects: [
      {
        // Examples import the package by its name.
        resolve: { tsconfigPaths: true },
        test: {
          ...unit,
          ...SHARED_PROCESS,
          name: 'unit',
          include: ['{test,server/test}/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            'test/browser/**',
            'test/package/**',
            'server/test/interop/**',
            ...ISOLATED,
            ...leftOut(),
          ],
        },
      },
      {
        resolve: { tsconfigPaths: true },
        test: { ...unit, name: 'unit-isolated', include: ISOLATED, exclude: leftOut() },
      },
      ...(hasWorkerd && !isBrief() ? [inWorkerd] : []),
      {
        test: {
          ...SHARED_PROCESS,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...leftOut()],
          // Four Firefoxes beside each other on two cores: a start alone can take half a minute.
          testTimeout: 300_000,
          hookTimeout: 120_000,
          ...WORKERS,
          ...after(1),
          maxConcurrency: 2,
        },
      },
      {
        test: {
          ...SHARED_PROCESS,
          name: 'package',
          include: ['test/package/*.test.ts'],
          exclude: leftOut(),
          globalSetup: './test/package/pack-once.ts',
          testTimeout: 300_000,
          hookTimeout: 120_000,
          // A framework's build uses more than one core, and its browser has to start.
          maxWorkers: isFull ? 2 : WORKERS.maxWorkers,
          ...after(2),
        },
      },
      ...(hasInterop ? [interop] : []),
    ],
  },
})
