/** A file of tests that replaces modules shares no process with the files after it. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { ISOLATED } from './support/isolated.js'

test('each file that replaces or resets modules has a process of its own', () => {
  const pattern = 'vi\\.(mock|doMock|resetModules)\\('
  const args = ['grep', '-lE', pattern, '--', 'test', 'server/test', 'examples']
  const files = execFileSync('git', args, { encoding: 'utf8' }).trim().split('\n')
  expect(files).toContain('test/worker/two-owners.test.ts')
  const isIsolated = (file: string) =>
    ISOLATED.some((entry) => file.startsWith(entry.replace('*.test.ts', '')))
  expect(files.filter((file) => !isIsolated(file) && file !== 'test/isolated.test.ts')).toEqual([])
})
