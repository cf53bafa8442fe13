// Puts the modules of offline-hilo beside the page, and a list of them for the service worker.
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'

const INTO = 'public/offline-hilo'
rmSync(INTO, { recursive: true, force: true })
for (const part of ['client', 'core', 'worker'])
  cpSync(`node_modules/offline-hilo/dist/${part}`, `${INTO}/${part}`, {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  })
const modules = readdirSync(INTO, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.js'))
  .map((path) => `/offline-hilo/${path.replaceAll('\\', '/')}`)
writeFileSync(`${INTO}/modules.json`, JSON.stringify(modules))
