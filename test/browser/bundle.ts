/**
 * The test page as an app's bundler makes it: Vite, with the library's sources in the place of the
 * package.
 */
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'
import { withoutUnused } from '../../scripts/left-out.js'

/** Content of each file, by its path on the site. */
export type Files = Map<string, string | Uint8Array>

let bundled: Promise<Files> | undefined

/** Bundled once per test process. */
export function bundleSite(): Promise<Files> {
  bundled ??= bundle()
  return bundled
}

async function bundle(): Promise<Files> {
  const output = (await build({
    configFile: false,
    root: fileURLToPath(new URL('site', import.meta.url)),
    logLevel: 'warn',
    // The package has the libraries without what it does not use.
    plugins: [withoutUnused()],
    build: {
      write: false,
      minify: false,
      modulePreload: false,
      rolldownOptions: {
        input: ['index.html', 'inspector.html'].map((page) =>
          fileURLToPath(new URL(`site/${page}`, import.meta.url)),
        ),
      },
    },
    worker: { format: 'es', plugins: () => [withoutUnused()] },
  })) as Rolldown.RolldownOutput
  return new Map(
    output.output.map((file) => [
      `/${file.fileName}`,
      file.type === 'chunk' ? file.code : file.source,
    ]),
  )
}
