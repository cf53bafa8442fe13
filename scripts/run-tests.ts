/**
 * Runs the tests, with Vitest's arguments. Says first what they use, what is left out, and how long
 * they take. At full size `npm run check` goes before, and a sample of mutants comes after.
 * Without Chromium it runs the tests that need no browser, says last how to get one, and fails.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { endAllWithThisProcess } from '../test/support/run-end.js'
import { isFull, runBriefly } from '../test/support/sizes.js'
import { prepare } from './prepare-tests.js'

const VITEST = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs')
const CHECK = join(import.meta.dirname, 'check.ts')
const MUTATE = join(import.meta.dirname, 'mutate.ts')
const IN_BROWSERS = ['browser', 'package']
/**
 * They take less than four minutes on two free cores. They are the same in each run, so that a
 * failure comes with a change.
 */
const SAMPLE = ['--generated', '--sample', '16', '--seed', '1']

endAllWithThisProcess()
const args = process.argv.slice(2)
const isAll = args.length === 0
if (isAll && !isFull) runBriefly()
if (isAll && isFull && (await run('--import', 'tsx', CHECK)) !== 0) process.exit(1)
const missing = prepare()
const isBrowserRun = IN_BROWSERS.some((project) => args.includes(project))
if (isAll) console.log(`The tests take about ${isFull ? 30 : 3} minutes on two free cores.`)
if (missing) args.push(...IN_BROWSERS.flatMap((project) => ['--project', `!${project}`]))
if (!missing || !isBrowserRun) process.exitCode = await run(VITEST, 'run', ...args)
if (isAll && isFull && !missing && process.exitCode === 0)
  process.exitCode = await run('--import', 'tsx', MUTATE, ...SAMPLE)
if (missing) {
  console.error(missing)
  process.exitCode = 1
}

async function run(...args: string[]): Promise<number> {
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'close')
  return code ?? 1
}
