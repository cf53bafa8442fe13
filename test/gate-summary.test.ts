/** What counts as a failure of the gate beside a test that failed. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../scripts/gate-summary.mjs', import.meta.url))

interface Told {
  fullName: string
  status: 'passed' | 'skipped'
  failureMessages?: string[]
}

/** @param files the tests of each, as Vitest reports them, or why it did not load */
function summary(
  files: (Told[] | string)[] | undefined,
  { absent = [] as string[], exit = 0 } = {},
) {
  const cwd = mkdtempSync(join(tmpdir(), 'hilo-summary-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  mkdirSync(join(cwd, 'test-results'))
  const write = (name: string, content: unknown) =>
    writeFileSync(join(cwd, 'test-results', name), JSON.stringify(content))
  write('absent.json', absent)
  if (files) write('tests.json', { testResults: files.map(resultOf) })
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, String(exit)], {
    cwd,
    encoding: 'utf8',
  })
  return { status, said: stdout.trim().split('\n') }
}

const resultOf = (tests: Told[] | string) =>
  typeof tests === 'string'
    ? { name: 'a.test.ts', message: tests, status: 'failed', assertionResults: [] }
    : {
        name: 'a.test.ts',
        message: '',
        status: 'passed',
        assertionResults: tests.map((each) => ({ failureMessages: [], ...each })),
      }

const passed: Told = { fullName: 'adds', status: 'passed' }

test('a run whose tests pass has passed', () => {
  expect(summary([[passed]])).toEqual({ status: 0, said: ['1 passed, 0 failed'] })
})

test('a test that passed at its second try has failed', () => {
  const { status, said } = summary([
    [passed, { fullName: 'an id once', status: 'passed', failureMessages: ['twice'] }],
  ])
  expect(status).toBe(1)
  expect(said).toEqual(['Failed before it passed: a.test.ts: an id once', '1 passed, 1 failed'])
})

test('a test left out for a program that could not be got is told, and is no failure', () => {
  const fullName = 'a pooler (left out: PgBouncer is not installed)'
  const { status, said } = summary([[passed, { fullName, status: 'skipped' }]], {
    absent: ['PgBouncer'],
  })
  expect(status).toBe(0)
  expect(said).toEqual([
    'Could not be got: PgBouncer',
    '1 left out: PgBouncer is not installed',
    '1 passed, 0 failed',
  ])
})

test.each([
  ['whose program is here', 'a pooler (left out: PgBouncer is not installed)'],
  ['that waits for the full size', 'kills (left out: CI=true runs it)'],
  ['without a reason', 'kills'],
])('a test that is left out %s has failed', (_, fullName) => {
  const { status, said } = summary([[passed, { fullName, status: 'skipped' }]], {
    absent: ['etcd'],
  })
  expect(status).toBe(1)
  expect(said).toContain(`  could have run here: a.test.ts: ${fullName}`)
  expect(said.at(-1)).toBe('1 passed, 1 failed')
})

test('what this machine does not allow is no failure', () => {
  const fullName = 'a mount (left out: mounts are not permitted)'
  expect(summary([[passed, { fullName, status: 'skipped' }]]).status).toBe(0)
})

test('a test that one project leaves out and another runs has run', () => {
  const { said } = summary([[passed], [{ ...passed, status: 'skipped' }]])
  expect(said).toEqual(['1 passed, 0 failed'])
})

test('a file that does not load is a failure, and so is a run without a test', () => {
  expect(summary([[passed], 'no such module'])).toEqual({ status: 1, said: ['1 passed, 1 failed'] })
  expect(summary(undefined)).toEqual({ status: 1, said: ['0 passed, 0 failed'] })
  expect(summary([[passed]], { exit: 3 }).status).toBe(3)
})
