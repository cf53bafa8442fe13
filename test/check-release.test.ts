/** What the release workflow asks before it installs anything. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../scripts/check-release.mjs', import.meta.url))
const url = 'git+https://github.com/example/offline-hilo.git'
const places = { homepage: 'https://example.com', bugs: 'https://example.com/issues' }

function checkRelease(browser: object, server: object) {
  const cwd = mkdtempSync(join(tmpdir(), 'hilo-release-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  mkdirSync(join(cwd, 'server'))
  writeFileSync(
    join(cwd, 'package.json'),
    JSON.stringify({ version: '1.2.3', ...places, ...browser }),
  )
  const ofServer = { version: '1.2.3', ...places, ...server }
  writeFileSync(join(cwd, 'server/package.json'), JSON.stringify(ofServer))
  const env = {
    ...process.env,
    GITHUB_REF_NAME: 'v1.2.3',
    GITHUB_REPOSITORY: 'example/offline-hilo',
  }
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd, env, encoding: 'utf8' })
  return { status, stderr }
}

test('a tag of both versions, in the repository that both name, may be released', () => {
  const repository = { type: 'git', url }
  expect(checkRelease({ repository: url }, { repository })).toEqual({ status: 0, stderr: '' })
})

test.each([
  ['another version', { repository: url }, { repository: url, version: '1.2.2' }, 'version 1.2.2'],
  ['no repository', { repository: url }, {}, 'server/package.json has no repository'],
  ['no homepage', { repository: url }, { repository: url, homepage: '' }, 'has no homepage'],
  ['no place for bugs', { repository: url, bugs: '' }, { repository: url }, 'has no bugs'],
  ['a fork', { repository: url.replace('example', 'fork') }, { repository: url }, 'fork/offline'],
])('%s is refused', (_, browser, server, message) => {
  const { status, stderr } = checkRelease(browser, server)
  expect(status).toBe(1)
  expect(stderr).toContain(message)
})
