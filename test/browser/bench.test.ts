/**
 * Every benchmark works: it runs, shortened, and prints its figures. Figures of a short run mean
 * nothing. Benchmarks that start many browsers or databases run with `CI=true` only.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isFull } from '../support/sizes.js'
import { testedEngines } from './engines.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Some of them start browsers several times. */
const PATIENCE = 300_000
const ENGINES = testedEngines()
  .map(({ name }) => name)
  .join()

async function bench(...names: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'bench/main.ts', '--quick', ...names],
    { cwd: ROOT, env: { ...process.env, TEST_ENGINES: ENGINES } },
  )
  return stdout
}

// They run side by side here. In a real run they must not.
describe.concurrent('the bench', { timeout: PATIENCE }, () => {
  test.each(['issuing', 'series', ...(isFull ? ['first-id', 'tabs', 'bulk'] : [])])(
    '%s prints figures of every engine',
    async (name) => {
      const printed = await bench(name)
      for (const { title } of testedEngines())
        expect(printed).toMatch(new RegExp(`^\\|.*${title} \\d`, 'm'))
    },
  )

  test.each([
    { name: 'gaps', rows: ['numbers burnt per id issued', 'ids issued twice', 'requests'] },
    { name: 'size', rows: ['page', 'offline-hilo,', 'idb,', 'dexie,'] },
    ...(isFull
      ? [{ name: 'server', rows: ['a claim, two servers', 'PostgreSQL, one hot collection'] }]
      : []),
  ])('$name prints figures', async ({ name, rows }) => {
    const printed = await bench(name)
    for (const row of rows) expect(printed).toMatch(new RegExp(`^(\\| )?${row} .*\\d`, 'm'))
  })

  test('an unknown bench is named in the error, with the benches that there are', async () => {
    await expect(bench('speed')).rejects.toThrow(/no bench 'speed'.*issuing, first-id/)
  })
})
