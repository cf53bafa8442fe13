/** A test waits long enough for a machine that is busy. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('no test waits with the short limit that Vitest has by itself', () => {
  const args = ['grep', '-lE', 'vi\\.wait(For|Until)\\(', '--', 'test', 'server/test', 'examples']
  const files = execFileSync('git', args, { encoding: 'utf8' }).trim().split('\n')
  expect(files.sort()).toEqual(['test/support/eventually.ts', 'test/support/run-program.ts'])
})
