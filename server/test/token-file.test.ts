/** Tokens in a file: they change with it, and the last good ones hold. */
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { tokensFromFile } from '../src/http/token-file.js'
import { readConfig } from '../src/settings.js'
import { newFolder } from './folders.js'

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>()
  return { ...fs, readFileSync: vi.fn(fs.readFileSync) }
})

const [FIRST, SECOND] = ['correct-horse-battery', 'staple-staple-staple']

function fileWith(text: string) {
  const file = join(newFolder(), 'tokens')
  writeFileSync(file, text)
  return file
}

function readTokens(tokensFile: string, more: object = {}) {
  const config = join(newFolder(), 'hilo.json')
  writeFileSync(config, JSON.stringify({ tokensFile, ...more }))
  return readConfig({ config }).tokens as () => readonly string[]
}

test('tokens change with the file; while it is gone or unusable the last ones hold, and the log says so once', () => {
  const file = fileWith(`# comment\n${FIRST}\n\n`)
  const log = { info: vi.fn(), error: vi.fn() }
  const tokens = tokensFromFile(file, log)
  expect(tokens()).toEqual([FIRST])
  writeFileSync(`${file}.new`, `${FIRST}\r\n${SECOND}\n`)
  renameSync(`${file}.new`, file)
  expect(tokens()).toEqual([FIRST, SECOND])
  expect(log.error).not.toHaveBeenCalled()
  const makeUnusable = [() => writeFileSync(file, ''), () => rmSync(file)]
  for (const [i, change] of makeUnusable.entries()) {
    change()
    for (let request = 0; request < 3; request++) expect(tokens()).toEqual([FIRST, SECOND])
    expect(log.error).toHaveBeenCalledTimes(i + 1)
  }
  writeFileSync(file, SECOND)
  expect(tokens()).toEqual([SECOND])
})

test('a file that cannot even be looked at leaves the last tokens in force', () => {
  const file = fileWith(FIRST)
  const tokens = tokensFromFile(file, { info: vi.fn(), error: vi.fn() })
  rmSync(file)
  symlinkSync(file, file)
  expect(tokens()).toEqual([FIRST])
})

test('a file that changes while it is first read is read again', async () => {
  const file = fileWith(FIRST)
  const { readFileSync: read } = await vi.importActual<typeof import('node:fs')>('node:fs')
  vi.mocked(readFileSync).mockImplementationOnce((...args) => {
    const text = read(...args)
    writeFileSync(file, SECOND)
    return text
  })
  expect(tokensFromFile(file)()).toEqual([SECOND])
})

test('a file that cannot be used stops the start, and its tokens are not shown', () => {
  expect(() => readTokens('/nowhere/tokens')).toThrow(
    'tokensFile: /nowhere/tokens cannot be read (ENOENT)',
  )
  expect(() => readTokens(fileWith('#\n'))).toThrow('has no token')
  expect(() => readTokens(fileWith(`${FIRST}\nshort`))).toThrow(
    /line 2 of .*tokens: a token has at least 16 characters\.$/,
  )
  expect(() => readTokens(fileWith(FIRST), { tokens: [SECOND] })).toThrow(
    'tokens, tokensFile: give one of them',
  )
})
