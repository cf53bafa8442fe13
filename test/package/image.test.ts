/** What the Dockerfile installs, without Docker: the lock file's packages, and no script runs. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { emptyFolder, REPOSITORY } from './packed.js'

const { server } = inject('packed')

test('the image has what the lock file names, and its server starts', () => {
  const lines = readFileSync(join(REPOSITORY, 'server/Dockerfile'), 'utf8').split('\n')
  const install = lines.find(
    (line) => line.startsWith('RUN npm ci') && line.includes('--omit=dev'),
  )!
  expect(lines.filter((line) => /npm (install|i|ci) (?!--ignore-scripts)/.test(line))).toEqual([])
  const app = emptyFolder()
  onTestFinished(() => rmSync(app, { recursive: true, force: true }))
  mkdirSync(join(app, 'server'))
  for (const file of ['package.json', 'package-lock.json', 'server/package.json'])
    cpSync(join(REPOSITORY, file), join(app, file))
  const run = (command: string) =>
    execFileSync('sh', ['-c', command], { cwd: app, encoding: 'utf8', stdio: 'pipe' })
  run(install.slice('RUN '.length))
  run(`tar -xzf ${server.tarball} --directory server --strip-components 1`)
  const program = 'node node_modules/offline-hilo-server/dist/cli.js'
  const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'server/package.json'), 'utf8'))
  expect(run(`${program} --version`).trim()).toBe(version)
  run(`${program} init --data ledger`)
  expect(run(`${program} status --data ledger`)).toContain('No collection yet.')
})
