/** The log where it cannot be written. Only Linux has a file that is always full. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newFolder } from './folders.js'
import { cliFile } from './processes.js'

const FULL = '/dev/full'
const LOG = new URL('../src/node/pino-log.ts', import.meta.url).href

function startOnFullDisk(...args: string[]) {
  const full = openSync(FULL, 'w')
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', full] })
  closeSync(full)
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended: once(child, 'exit') }
}

const leftOut = existsSync(FULL) ? '' : ' (left out: there is no /dev/full)'

describe.skipIf(leftOut)(`while the disk of the log is full${leftOut}`, () => {
  test('the server goes on, and ends when it is told to', async () => {
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ logRequests: true }))
    const flags = ['--port', '0', '--data', newFolder(), '--first', '--drain', '0']
    const { child, ended } = startOnFullDisk(await cliFile(), 'serve', ...flags, '--config', config)
    const [line] = await once(child.stdout!, 'data')
    const url = /http:\S+/.exec(String(line))![0]
    for (let i = 0; i < 5; i++) {
      const signal = AbortSignal.timeout(10_000)
      const answer = await fetch(`${url}/databases/Shop/hilo/next?tag=orders`, { signal })
      expect(answer.status).toBe(201)
    }
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  test('lines do not fill the memory', async () => {
    const script = join(newFolder(), 'log.mjs')
    writeFileSync(
      script,
      `import { createLog } from ${JSON.stringify(LOG)}
       const log = createLog()
       const text = 'x'.repeat(1_000)
       for (let round = 0; round < 100; round++) {
         for (let i = 0; i < 2_000; i++) log.info({ i }, text)
         await new Promise((resolve) => setImmediate(resolve))
       }`,
    )
    const { ended } = startOnFullDisk('--max-old-space-size=64', '--import', 'tsx', script)
    expect(await ended).toEqual([0, null])
  })
})
