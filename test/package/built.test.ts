import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isBuilt } from './built.js'

const SOURCES = [
  'src/index.ts',
  'server/src/index.ts',
  'scripts/build.ts',
  'docs/README.md',
  'package.json',
  'package-lock.json',
  'server/package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'LICENSE',
  'CHANGELOG.md',
]
const BUILD = ['dist/client/index.js', 'server/dist/cli.js', 'server/dist/index.d.ts']

test('a build counts if it is whole, and newer than all it is made of', () => {
  const root = mkdtempSync(join(tmpdir(), 'hilo-built-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const setTime = (path: string, seconds: number) => utimesSync(join(root, path), seconds, seconds)
  for (const path of [...SOURCES, ...BUILD]) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), '')
  }
  const folders = ['src', 'server/src', 'scripts', 'docs']
  for (const path of [...SOURCES, ...folders]) setTime(path, 1_000)
  for (const path of [...BUILD, 'dist', 'dist/client', 'server/dist']) setTime(path, 2_000)
  expect(isBuilt(root)).toBe(true)
  mkdirSync(join(root, 'scripts/tools/node_modules'), { recursive: true })
  for (const folder of ['scripts', 'scripts/tools']) setTime(folder, 1_000)
  expect(isBuilt(root), 'packages were installed').toBe(true)
  for (const path of [...SOURCES, ...folders]) {
    setTime(path, 3_000)
    expect(isBuilt(root), path).toBe(false)
    setTime(path, 1_000)
  }
  expect(isBuilt(root)).toBe(true)
  rmSync(join(root, 'server/dist/index.d.ts'))
  expect(isBuilt(root)).toBe(false)
})
