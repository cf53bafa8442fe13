/** What a run of the tests has started ends with it, however it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startCluster } from '../../server/test/postgres-cluster.js'
import { eventually } from '../support/eventually.js'
import { enginePath } from './engines.js'
import { start } from './process.js'

const ROOT = join(import.meta.dirname, '../..')
/** Set in the run that is killed: the file in which it tells what it has started. */
const STARTED = process.env.TEST_STARTED

interface Started {
  folder: string
  ports: number[]
}

async function startAndStay(): Promise<void> {
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0']
  const profile = mkdtempSync(join(tmpdir(), 'hilo-chromium-'))
  args.push(`--user-data-dir=${profile}`, 'about:blank')
  const { ready } = await start(enginePath('chromium'), args, /listening on (ws:\S+)/)
  const { url } = await startCluster({ isSynced: false })
  const ports = [ready![1]!, url].map((address) => Number(new URL(address).port))
  writeFileSync(STARTED!, JSON.stringify({ folder: tmpdir(), ports } satisfies Started))
  await new Promise(() => {})
}

/** Against it, the run itself can do nothing: what helps here helps against Ctrl-C, too. */
async function leavesNothing(): Promise<void> {
  const own = mkdtempSync(join(tmpdir(), 'hilo-killed-'))
  onTestFinished(() => rmSync(own, { recursive: true, force: true }))
  const file = join(own, 'started.json')
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--project', 'browser', 'browser/run-end']
  const run = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, TEST_STARTED: file, CI: '' },
    detached: true,
    stdio: 'ignore',
  })
  const exited = once(run, 'exit')
  // It is there before it is whole.
  const { folder, ports } = await eventually(
    () => JSON.parse(readFileSync(file, 'utf8')) as Started,
  )
  expect(await Promise.all(ports.map(answers))).toEqual([true, true])

  process.kill(run.pid!, 'SIGKILL')
  await exited
  await eventually(() => expect(existsSync(folder)).toBe(false))
  expect(await Promise.all(ports.map(answers))).toEqual([false, false])
}

if (STARTED) test('starts Chromium and PostgreSQL, and does not end', startAndStay)
else test('SIGKILL leaves no process and no folder', leavesNothing)

/** Does anybody listen there? */
const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
