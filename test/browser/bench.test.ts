/**
 * The bench works: a part that opens pages and parts that open none run, shortened, and print their
 * figures. Figures of a short run mean nothing.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

async function bench(...names: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'bench/main.ts', '--quick', ...names],
    { cwd: ROOT, env: { ...process.env, TEST_ENGINES: 'chromium' } },
  )
  return stdout
}

// They run side by side here. In a real run they must not.
describe.concurrent('the bench', () => {
  test.each([
    { name: 'series', rows: ['.*Chromium'] },
    { name: 'gaps', rows: ['numbers burnt per id issued', 'ids issued twice', 'requests'] },
    { name: 'size', rows: ['page', 'offline-hilo,', 'idb,', 'dexie,'] },
  ])('$name prints figures', async ({ name, rows }) => {
    const printed = await bench(name)
    for (const row of rows) expect(printed).toMatch(new RegExp(`^(\\| )?${row} .*\\d`, 'm'))
  })

  test('an unknown bench is named in the error, with the benches that there are', async () => {
    await expect(bench('speed')).rejects.toThrow(/no bench 'speed'.*issuing, first-id/)
  })
})
