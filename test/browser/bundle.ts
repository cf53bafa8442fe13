/** The test page as an app's bundler makes it: Vite, with the library's sources, or what was built from them, in the place of the package. */
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'

const SOURCES = fileURLToPath(new URL('../../src/index.ts', import.meta.url))

/** Content of each file, by its path on the site. */
export type Files = Map<string, string | Uint8Array>

const bundles = new Map<string, Promise<Files>>()

/**
 * Bundled once per test process.
 * @param library path of the module to take for the library; its sources by default
 */
export function bundleSite(library = SOURCES): Promise<Files> {
  const bundled = bundles.get(library) ?? bundle(library)
  bundles.set(library, bundled)
  return bundled
}

async function bundle(library: string): Promise<Files> {
  const output = (await build({
    configFile: false,
    root: fileURLToPath(new URL('site', import.meta.url)),
    logLevel: 'warn',
    resolve: { alias: [{ find: /^.*\/src\/index\.js$/, replacement: library }] },
    build: { write: false, minify: false, modulePreload: false },
    worker: { format: 'es' },
  })) as Rolldown.RolldownOutput
  return new Map(output.output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]))
}
