/**
 * What a page loads until its first id: the files and bytes that a browser asks the site for. It
 * measures this package as it is built, and other libraries that an app may choose.
 */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Rolldown } from 'vite'
import { inEachEngine } from './browsers.js'
import { serveSite } from './site.js'
import { table } from './text.js'

const LIBRARIES = ['offline-hilo', 'idb', 'dexie']

/** @returns a Markdown table */
export async function loadsTable(): Promise<string> {
  const files = new Map((await Promise.all(LIBRARIES.map(filesOf))).flat())
  const site = await serveSite(files)
  const rows: string[][] = []
  await inEachEngine(async ({ title, newPage }) => {
    for (const name of LIBRARIES) {
      const page = await newPage()
      site.takeRequests()
      await page.goto(`${site.url}/${name}/index.html`)
      await page.evaluate(() => window.firstId)
      const paths = site.takeRequests()
      await page.close()
      const loaded = paths.filter((path) => path.endsWith('.js')).map((path) => files.get(path)!)
      const bytes = loaded.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0)
      const calls = paths.filter((path) => path.startsWith('/databases/'))
      rows.push([
        `${name}, ${title}`,
        `${(bytes / 1000).toFixed(2)} kB`,
        String(loaded.length),
        String(calls.length),
      ])
    }
  })
  await site.close()
  return table(['until the first id', 'gzipped', 'files', 'requests to the HiLo server'], rows)
}

/** One library's page, bundled by itself: pages that are bundled together share files. */
async function filesOf(name: string): Promise<[string, string | Uint8Array][]> {
  const { output } = (await build({
    configFile: false,
    base: `/${name}/`,
    logLevel: 'warn',
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: fileURLToPath(new URL(`pages/loads/${name}.ts`, import.meta.url)) },
    },
    worker: { format: 'es' },
  })) as Rolldown.RolldownOutput
  const [entry] = output
  return [
    [
      `/${name}/index.html`,
      `<!doctype html><script type="module" src="/${name}/${entry.fileName}"></script>`,
    ],
    ...output.map((file): [string, string | Uint8Array] => [
      `/${name}/${file.fileName}`,
      file.type === 'chunk' ? file.code : file.source,
    ]),
  ]
}
