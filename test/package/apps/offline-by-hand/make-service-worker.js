// Run it after each build. It writes dist/service-worker.js, which knows all files of the build.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const files = readdirSync('dist', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name !== 'service-worker.js')
  .map((entry) => relative('dist', join(entry.parentPath, entry.name)))
  .map((path) => `/${path.split(sep).join('/')}`.replace(/\/index\.html$/, '/'))

writeFileSync(
  'dist/service-worker.js',
  `const VERSION = ${Date.now()}
const FILES = ${JSON.stringify(files)}
${readFileSync('src/service-worker.js', 'utf8')}`,
)
