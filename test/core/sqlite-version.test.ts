import { expect, test } from 'vitest'
import { losesCommits } from '../../src/core/sqlite-version.js'

test.each(['3.7.0', '3.44.5', '3.45.1', '3.50.6', '3.51.2'])('SQLite %s loses commits', (version) =>
  expect(losesCommits(version)).toBe(true),
)

test.each(['3.6.23', '3.44.6', '3.50.7', '3.51.3', '3.53.0', '4.0.0'])(
  'SQLite %s keeps them',
  (version) => expect(losesCommits(version)).toBe(false),
)
