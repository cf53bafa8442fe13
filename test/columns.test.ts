/** Every line of source that a person writes is at most 100 columns wide. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Not among them, since nobody wraps their lines by hand: Markdown, whose tables have one line for
 * each row; JSON, and with it lock files and what tests compare with; images; and `.ci/run`, which
 * an outside service reads.
 */
const WRITTEN = /\.(?:ts|tsx|js|mjs|css|html|sh|yml|java|php|py)$/

const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((path) => WRITTEN.test(path))

test('no line of source is wider than 100 columns', () => {
  expect(files.length).toBeGreaterThan(400)
  const wide = files.flatMap((path) =>
    readFileSync(`${ROOT}${path}`, 'utf8')
      .split('\n')
      .flatMap((line, i) => ([...line].length > 100 ? [`${path}:${i + 1}: ${line}`] : [])),
  )
  expect(wide).toEqual([])
})
