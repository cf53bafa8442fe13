/**
 * Prints what a browser downloads of each entry, minified and gzipped, and how much an installation
 * of each package adds, beside budgets and goals. Fails if a size is over its budget. It measures
 * what `npm run build` has made.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'rolldown'
import { ENTRIES, INSTALLED, kB, type Limits } from './budgets.js'
import { BROWSER_PACKAGE } from './packages.js'

heading('minified, gzipped')
for (const { name, file, ...limits } of ENTRIES)
  line(name, await download(join(BROWSER_PACKAGE.dist, file)), limits)
heading('installed')
for (const { name, folder, budget } of INSTALLED) line(name, unpacked(folder), { budget })

function heading(of: string): void {
  console.log(of.padEnd(32), ...['size', 'budget', 'goal'].map((each) => each.padStart(9)))
}

function line(name: string, size: number, { budget, goal }: Limits): void {
  const isOver = budget !== undefined && size > budget
  if (isOver) process.exitCode = 1
  console.log(name.padEnd(32), show(size), show(budget), show(goal), isOver ? '  over' : '')
}

/** Bytes of all files that npm packs. */
function unpacked(folder: string): number {
  const args = ['pack', '--dry-run', '--json', `./${folder}`]
  const [packed] = JSON.parse(
    execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  return packed.unpackedSize
}

/**
 * Bytes of an entry with all that it imports at once, and without what it loads on demand or starts
 * as a worker.
 */
async function download(file: string): Promise<number> {
  const { output } = await build({
    input: { entry: file },
    platform: 'browser',
    external: ['react'],
    write: false,
    output: {
      minify: true,
      comments: { legal: true },
      entryFileNames: 'entry.js',
      chunkFileNames: '[name].js',
    },
  })
  const chunks = new Map(
    output.filter((each) => each.type === 'chunk').map((chunk) => [chunk.fileName, chunk]),
  )
  const needed = new Set(['entry.js'])
  for (const fileName of needed)
    for (const other of chunks.get(fileName)!.imports) if (chunks.has(other)) needed.add(other)
  return [...needed].reduce(
    (sum, fileName) => sum + gzipSync(chunks.get(fileName)!.code, { level: 9 }).length,
    0,
  )
}

function show(bytes: number | undefined): string {
  return (bytes === undefined ? '' : `${(bytes / kB).toFixed(2)} kB`).padStart(9)
}
