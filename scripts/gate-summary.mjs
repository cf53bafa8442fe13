/**
 * The last lines of `.ci/run`: how many tests passed, failed and were left out, and why. A test
 * that failed at any try has failed. So has a test that was left out although it could run here:
 * its title has to name a program that could not be got, or what this machine does not allow. It
 * needs nothing installed.
 *
 *     node scripts/gate-summary.mjs 0   # the exit code of the tests
 */
import { existsSync, readFileSync } from 'node:fs'

/** What a machine may lack, as titles say it. Each was tried before the title was made. */
const OF_THE_MACHINE = [
  'network namespaces are not permitted',
  'mounts are not permitted',
  'a process cannot be the first of its own here',
  'users cannot be mapped here',
  'there is no /dev/full',
  'there is no ulimit',
  'it needs Linux and a C compiler',
  'npm has no workerd for this system',
  'no npm registry answers',
]

/** @returns what a file of the run says, or `otherwise` where the run did not get that far */
const read = (file, otherwise) =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : otherwise

const { testResults } = read('test-results/tests.json', { testResults: [] })
/** Programs and libraries that could not be got: scripts/prepare-tests.ts. */
const absent = read('test-results/absent.json', [])

/** A file that does not even load has no failed test in it: it counts as one. */
const tests = testResults.flatMap(({ name, status, message, assertionResults }) => {
  const found = assertionResults.map((test) => ({ ...test, id: `${name}: ${test.fullName}` }))
  const isBroken = status === 'failed' && found.every((test) => test.status !== 'failed')
  return isBroken ? [...found, { id: name, status, failureMessages: [message] }] : found
})
const isTried = ({ status, failureMessages }) => status === 'failed' || failureMessages.length > 0
const failed = new Set(tests.filter(isTried).map(({ id }) => id))
const ran = new Set(tests.filter(({ status }) => status === 'passed').map(({ id }) => id))

/** Reason → tests. A test may run in one project and be left out in another: it has run. */
const leftOut = new Map()
for (const { id } of tests)
  if (!ran.has(id) && !failed.has(id)) {
    const reason = /\(left out: (.*?)\)/.exec(id)?.[1] ?? ''
    leftOut.set(reason, new Set(leftOut.get(reason)).add(id))
  }
const isExcused = (reason) =>
  OF_THE_MACHINE.includes(reason) ||
  reason.endsWith(' does not start here') ||
  absent.some((title) => reason.startsWith(title))

const say = (text) => process.stdout.write(`${text}\n`)
for (const title of absent) say(`Could not be got: ${title}`)
for (const [reason, ids] of leftOut) {
  say(`${ids.size} left out: ${reason || 'their titles do not say why'}`)
  if (!isExcused(reason)) {
    for (const id of ids) say(`  could have run here: ${id}`)
    for (const id of ids) failed.add(id)
  }
}
for (const { id, status } of tests)
  if (status === 'passed' && failed.has(id)) say(`Failed before it passed: ${id}`)
const passed = tests.filter(({ id, status }) => status === 'passed' && !failed.has(id)).length
say(`${passed} passed, ${failed.size} failed`)
process.exitCode = Number(process.argv[2]) || (passed === 0 || failed.size > 0 ? 1 : 0)
