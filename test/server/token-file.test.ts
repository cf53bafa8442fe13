/** Tokens in a file: they change with it, and the last good ones hold. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/server/config.js'
import { newFolder } from './folders.js'

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

test('tokens change with the file; while it is gone or unusable the last ones hold', () => {
  const file = fileWith(`# comment\n${FIRST}\n\n`)
  const tokens = readTokens(file)
  expect(tokens()).toEqual([FIRST])
  writeFileSync(`${file}.new`, `${FIRST}\r\n${SECOND}\n`)
  renameSync(`${file}.new`, file)
  expect(tokens()).toEqual([FIRST, SECOND])
  writeFileSync(file, '')
  expect(tokens()).toEqual([FIRST, SECOND])
  rmSync(file)
  expect(tokens()).toEqual([FIRST, SECOND])
  writeFileSync(file, SECOND)
  expect(tokens()).toEqual([SECOND])
})

test('a file that cannot be used stops the start, and its tokens are not shown', () => {
  expect(() => readTokens('/nowhere/tokens')).toThrow('tokensFile: /nowhere/tokens cannot be read (ENOENT)')
  expect(() => readTokens(fileWith('#\n'))).toThrow('has no token')
  expect(() => readTokens(fileWith(`${FIRST}\nshort`))).toThrow(/line 2 of .*tokens: a token has at least 16 characters\.$/)
  expect(() => readTokens(fileWith(FIRST), { tokens: [SECOND] })).toThrow('tokens, tokensFile: give one of them')
})
