/** What a browser downloads of each entry, minified and gzipped, beside its budget; fails when one is over. Needs `dist` (`npm run build`). */
import { gzipSync } from 'node:zlib'
import { build } from 'rolldown'

const kB = 1000

const ENTRIES: { name: string; file: string; budget?: number }[] = [
  // Comlink alone is 1.9 kB on each side, idb 1.4 kB of the worker. A budget is only ever lowered, but for what
  // `inspect` and `watch` need at both ends, 0.2 kB (the rest is loaded when somebody looks), and pages that help each other out, 0.1 kB.
  { name: 'page', file: 'dist/client/index.js', budget: 10.85 * kB },
  { name: 'worker', file: 'dist/worker/entry.js', budget: 11.6 * kB },
  { name: 'raven (with its pluraliser)', file: 'dist/raven.js' },
]

let isOver = false
console.log('minified, gzipped'.padEnd(32), 'size'.padStart(8), 'budget'.padStart(8))
for (const { name, file, budget } of ENTRIES) {
  const size = await download(file)
  const isTooBig = budget !== undefined && size > budget
  isOver ||= isTooBig
  console.log(name.padEnd(32), show(size), budget ? show(budget) : ''.padStart(8), isTooBig ? '  over' : '')
}
if (isOver) process.exitCode = 1

/** Bytes of an entry with all that it imports at once; what it loads on demand or starts as a worker is not part of it. */
async function download(file: string): Promise<number> {
  const { output } = await build({
    input: { entry: file },
    platform: 'browser',
    write: false,
    output: { minify: true, comments: { legal: true }, entryFileNames: 'entry.js', chunkFileNames: '[name].js' },
  })
  const chunks = new Map(output.filter((each) => each.type === 'chunk').map((chunk) => [chunk.fileName, chunk]))
  const needed = new Set(['entry.js'])
  for (const fileName of needed) for (const other of chunks.get(fileName)!.imports) needed.add(other)
  return [...needed].reduce((sum, fileName) => sum + gzipSync(chunks.get(fileName)!.code, { level: 9 }).length, 0)
}

function show(bytes: number): string {
  return `${(bytes / kB).toFixed(2)} kB`.padStart(8)
}
