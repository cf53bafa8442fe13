/** What `npm start` says while somebody waits at the terminal. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { moduleImports } from '../../scripts/module-imports.js'

test('npm start prints its first line before it loads the bundler and the server', () => {
  const path = 'demo/server/main.ts'
  const imports = moduleImports(path, readFileSync(path, 'utf8'))
  const atOnce = imports.filter(({ kind }) => kind === 'static').map(({ specifier }) => specifier)
  expect(atOnce).toEqual(['node:url', 'commander'])
})
