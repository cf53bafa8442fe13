/** What the server tells its operator at the start, although it runs. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cautionsOf } from '../src/cli/start-line.js'
import { newFolder } from './folders.js'
import { startProcess } from './processes.js'

const STRONG = '3f9c0e5b7a12d846'
const STRONGS_HASH = `sha256:${'ab'.repeat(32)}`

/** A folder with a ledger and a configuration, which others can enter or not. */
function place(mode: number): { dataDir: string; config: string } {
  const dataDir = newFolder()
  const config = join(dataDir, 'hilo.json')
  for (const file of [config, join(dataDir, 'hilo.db')]) {
    writeFileSync(file, '{}')
    chmodSync(file, mode)
  }
  chmodSync(dataDir, 0o755)
  return { dataDir, config }
}

test('files that others can read are named, with what to do', () => {
  const { dataDir, config } = place(0o644)
  expect(cautionsOf({ dataDir, tokens: [STRONG] }, config)).toEqual([
    expect.stringContaining(`${config} holds secrets`),
    expect.stringContaining(`chmod 600 ${join(dataDir, 'hilo.db')}`),
  ])
})

test('nothing is said of files that others cannot reach, and of one without secrets', () => {
  const closed = place(0o600)
  expect(cautionsOf({ dataDir: closed.dataDir, tokens: [STRONG] }, closed.config)).toEqual([])
  const hidden = place(0o644)
  chmodSync(hidden.dataDir, 0o700)
  expect(cautionsOf({ dataDir: hidden.dataDir, tokens: [STRONG] }, hidden.config)).toEqual([])
  const { dataDir } = closed
  const { config } = place(0o644)
  expect(cautionsOf({ dataDir, tokens: [STRONGS_HASH] }, config)).toEqual([])
  expect(cautionsOf({ databaseUrl: 'postgres://hilo@db/hilo' }, config)).toEqual([])
  expect(cautionsOf({ databaseUrl: 'postgres://hilo:secret@db/hilo' }, config)).toHaveLength(1)
})

test('a secret that signs is looked for where it is kept', () => {
  const { dataDir, config } = place(0o644)
  const secrets = [STRONG.repeat(2)]
  expect(cautionsOf({ dataDir, secrets }, config)).toEqual([
    expect.stringContaining(`${config} holds secrets`),
  ])
})

test('tokens that are easy to guess are counted, and not shown', () => {
  const { dataDir } = place(0o600)
  const weak = 'passpasspasspass'
  const [said, ...others] = cautionsOf({ dataDir, tokens: [weak, { token: STRONG }] }, undefined)
  expect(said).toContain('1 of 2 tokens have less than 8 different characters')
  expect(said).not.toContain(weak)
  expect(others).toEqual([])
})

test('the log of a start has them', async () => {
  const data = newFolder()
  const config = join(data, 'hilo.json')
  writeFileSync(config, JSON.stringify({ databases: 'any', tokens: ['passpasspasspass'] }), {
    mode: 0o600,
  })
  const flags = ['--port', '0', '--data', data, '--config', config]
  const { log, stop } = await startProcess(flags)
  await expect.poll(log).toContain('tokens have less than 8 different characters')
  await stop()
})
