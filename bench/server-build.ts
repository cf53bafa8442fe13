/**
 * The server's process as one program in JavaScript, as the package is built. A loader of
 * TypeScript would add a name to every function that is made, and the bench would measure that,
 * too.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const INSTALLED = fileURLToPath(new URL('../node_modules', import.meta.url))

let built: Promise<string> | undefined

/** Built once. The file lies where Node finds the libraries, and goes when this process ends. */
export const builtServer = (): Promise<string> => (built ??= buildServer())

async function buildServer(): Promise<string> {
  const dir = mkdtempSync(join(INSTALLED, '.bench-server-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  await build({
    input: fileURLToPath(new URL('server-process.ts', import.meta.url)),
    platform: 'node',
    external: /^[^./]/,
    transform: { target: 'node20.19' },
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { dir },
  })
  return join(dir, 'server-process.js')
}
