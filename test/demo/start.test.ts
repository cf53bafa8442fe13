/** What `npm start` says while somebody waits at the terminal. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { moduleImports } from '../../scripts/module-imports.js'

test('npm start prints its first line before it loads the bundler and the server', () => {
  const path = 'demo/server/main.ts'
  const imports = moduleImports(path, readFileSync(path, 'utf8'))
  const atOnce = imports.filter(({ kind }) => kind === 'static').map(({ specifier }) => specifier)
  expect(atOnce).toEqual(['node:net', 'node:url', 'commander'])
})

test('npm start says that its port is taken before it builds', async () => {
  const taken = createServer()
  onTestFinished(() => void taken.close())
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  const args = ['--import', 'tsx', 'demo/server/main.ts', '--port', String(port)]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ stdout, status }).toEqual({ stdout: '', status: 1 })
  expect(stderr).toBe(
    `Port ${port} on 127.0.0.1 is taken. Stop what runs there, or choose another: ` +
      'npm start -- --port 0\n',
  )
})
