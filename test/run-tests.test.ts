/** What `npm test` says, and what it runs where there is no browser. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../scripts/run-tests.ts')

/** On a machine without Chromium that installs none. */
async function runWithoutChromium(file: string) {
  const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, file], {
    env: { ...process.env, CHROME_PATH: '/no/chromium', CI: '', NO_COLOR: '1' },
  })
  let said = ''
  child.stdout.on('data', (chunk) => (said += chunk))
  child.stderr.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  return { code, said }
}

test('without Chromium the other tests run; last it says how to get one, and fails', async () => {
  const { code, said } = await runWithoutChromium('test/core/utf8.test.ts')
  expect(code).toBe(1)
  expect(said).toMatch(
    /Test Files +1 passed[\s\S]*Chromium is missing[\s\S]*apt-get install chromium/,
  )
  const before = said.slice(0, said.indexOf(' RUN ')).trim().split('\n')
  expect(before).toEqual([
    'Chromium: /no/chromium does not start',
    expect.stringMatching(/^Left out: .*CI=true npm test runs all of it\.$/),
  ])
})
