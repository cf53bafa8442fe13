/** A plain run leaves long files out, unless the command line names one. */
import { expect, test } from 'vitest'
import { leftOutBy } from './support/sizes.js'

const BROWSER_FILE = 'test/browser/play.test.ts'

test('the name of a project, or of a test, names no file', () => {
  expect(leftOutBy(['run', '--project', 'browser'])).toContain(BROWSER_FILE)
  expect(leftOutBy(['run', '--project=browser'])).toContain(BROWSER_FILE)
  expect(leftOutBy(['run', '--project', 'browser', '-t', 'play'])).toContain(BROWSER_FILE)
})

test("Vitest's command names no file", () => {
  expect(leftOutBy(['run'])).toEqual(leftOutBy([]))
  expect(leftOutBy(['restarts'])).not.toEqual(leftOutBy([]))
})

test('a file that is named runs, and no other', () => {
  const leftOut = leftOutBy(['run', '--project', 'browser', 'browser/play'])
  expect(leftOut).not.toContain(BROWSER_FILE)
  expect(leftOut).toContain('test/browser/document.test.ts')
})
