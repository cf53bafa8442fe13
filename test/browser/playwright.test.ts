/** The Playwright tests of the documentation, run by Playwright itself. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newFolder } from '../processes/tills.js'
import { isInstalled, unlessInstalled } from '../support/peers.js'
import { openAppSite, STRICT_CSP } from './app-site.js'
import { enginePath } from './engines.js'
import { openHiloServer } from './hilo-server.js'
import { buildPage, PLAYWRIGHT } from './libraries.js'

/** Like the app of getting started while it is developed: the inspector has lists, too. */
const APP = `import { createHilo } from 'offline-hilo'
  import 'offline-hilo/inspector'
  const hilo = createHilo({ collections: { orders: { reserve: 200 } } })
  const inspector = document.createElement('hilo-inspector')
  inspector.hilo = hilo
  document.body.innerHTML =
    '<main><button>New order</button><ol></ol><p role="alert"></p></main>'
  document.body.append(inspector)
  const [button, orders, problem] = document.querySelector('main').children
  button.onclick = async () => {
    try {
      orders.append(Object.assign(document.createElement('li'), {
        textContent: await hilo.nextId('orders'),
      }))
    } catch (error) {
      problem.textContent = error.message
    }
  }`

const { peer } = PLAYWRIGHT
const title = `an app is tested offline and without ids${unlessInstalled(peer)}`

test.skipIf(!isInstalled(peer))(title, async () => {
  const folder = await buildPage(newFolder(), PLAYWRIGHT, { 'main.ts': APP })
  const { url } = await openHiloServer()
  const site = await openAppSite({ folder, backend: url, csp: STRICT_CSP })
  const project = newFolder()
  const spec = join(import.meta.dirname, '../../examples/testing/playwright.js')
  mkdirSync(join(project, 'tests'))
  writeFileSync(join(project, 'tests/orders.spec.js'), readFileSync(spec))
  writeFileSync(join(project, 'package.json'), '{"type": "module"}')
  const launchOptions = { executablePath: enginePath('chromium'), args: ['--no-sandbox'] }
  const config = { testDir: 'tests', use: { baseURL: site.url, launchOptions } }
  writeFileSync(join(project, 'playwright.config.js'), `export default ${JSON.stringify(config)}`)
  symlinkSync(join(peer.folder, 'node_modules'), join(project, 'node_modules'))
  const cli = join(project, 'node_modules/@playwright/test/cli.js')
  const env = { ...process.env, NODE_OPTIONS: '' }
  const run = promisify(execFile)(process.execPath, [cli, 'test'], { cwd: project, env })
  const { stdout } = await run.catch((error) => error as { stdout: string })
  expect(stdout).toContain('2 passed')
})
