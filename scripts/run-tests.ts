/**
 * Runs the tests, with Vitest's arguments. Says first what they use, what is left out, and how long
 * they take. Without Chromium it runs the tests that need no browser, says last how to get one, and
 * fails.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { endAllWithThisProcess } from '../test/support/run-end.js'
import { isFull } from '../test/support/sizes.js'
import { prepare } from './prepare-tests.js'

const VITEST = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs')
const IN_BROWSERS = ['browser', 'package']

endAllWithThisProcess()
const args = process.argv.slice(2)
const missing = prepare()
const isBrowserRun = IN_BROWSERS.some((project) => args.includes(project))
if (args.length === 0)
  console.log(`The tests take about ${isFull ? 40 : 3} minutes on two free cores.`)
if (missing) args.push(...IN_BROWSERS.flatMap((project) => ['--project', `!${project}`]))
if (!missing || !isBrowserRun) {
  const vitest = spawn(process.execPath, [VITEST, 'run', ...args], { stdio: 'inherit' })
  const [code] = await once(vitest, 'close')
  process.exitCode = code ?? 1
}
if (missing) {
  console.error(missing)
  process.exitCode = 1
}
