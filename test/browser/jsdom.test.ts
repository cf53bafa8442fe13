/** The component test of the documentation, in jsdom, by Vitest as an app runs it. */
import { execFile } from 'node:child_process'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newFolder } from '../processes/tills.js'
import { isInstalled, unlessInstalled } from '../support/peers.js'
import { JSDOM } from './libraries.js'

const ROOT = join(import.meta.dirname, '../..')
const { peer } = JSDOM

const CONFIG = `export default {
  oxc: { jsx: { runtime: 'automatic' } },
  resolve: {
    dedupe: ['react'],
    alias: [
      { find: /^offline-hilo$/, replacement: '${join(ROOT, 'src')}' },
      { find: /^offline-hilo\\/(.*)$/, replacement: '${join(ROOT, 'src/addons')}/$1' },
    ],
  },
}`

test.skipIf(!isInstalled(peer))(
  `a component is tested in jsdom${unlessInstalled(peer)}`,
  async () => {
    const project = newFolder()
    symlinkSync(join(peer.folder, 'node_modules'), join(project, 'node_modules'))
    cpSync(join(ROOT, 'examples/testing/component.test.tsx'), join(project, 'order.test.tsx'))
    writeFileSync(join(project, 'package.json'), '{"type": "module"}')
    writeFileSync(join(project, 'vitest.config.js'), CONFIG)
    const cli = join(project, 'node_modules/vitest/vitest.mjs')
    const env = { ...process.env, NO_COLOR: '1', VITEST: '' }
    const run = promisify(execFile)(process.execPath, [cli, 'run'], { cwd: project, env })
    const { stdout, stderr = '' } = await run.catch((error) => error as Record<string, string>)
    expect(`${stdout}${stderr}`).toMatch(/Tests +1 passed/)
  },
)
