/**
 * What a browser downloads of each entry, minified and gzipped, beside its budget and its goal;
 * fails when one is over its budget. Looks at `dist` (`npm run build`), or the folder given as
 * argument.
 */
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'rolldown'

const kB = 1000

/**
 * A budget is only ever lowered, but for a feature; why a goal is not reached is in
 * docs/performance.md.
 */
const ENTRIES: { name: string; file: string; budget?: number; goal?: number }[] = [
  { name: 'page', file: 'client/index.js', budget: 10.8 * kB, goal: 5 * kB },
  { name: 'worker', file: 'worker/entry.js', budget: 12.6 * kB, goal: 9 * kB },
  { name: 'inspector', file: 'inspector/index.js', budget: 8 * kB },
  { name: 'raven (with its pluraliser)', file: 'raven.js' },
  { name: 'format (with its cipher)', file: 'format.js' },
  { name: 'react', file: 'react.js' },
  { name: 'source', file: 'source/index.js' },
  { name: 'textbook', file: 'textbook.js' },
]

const dist = process.argv[2] ?? 'dist'

let isOver = false
console.log(
  'minified, gzipped'.padEnd(32),
  'size'.padStart(8),
  'budget'.padStart(8),
  'goal'.padStart(8),
)
for (const { name, file, budget, goal } of ENTRIES) {
  const size = await download(join(dist, file))
  const isTooBig = budget !== undefined && size > budget
  isOver ||= isTooBig
  console.log(name.padEnd(32), show(size), show(budget), show(goal), isTooBig ? '  over' : '')
}
if (isOver) process.exitCode = 1

/**
 * Bytes of an entry with all that it imports at once; what it loads on demand or starts as a worker
 * is not part of it.
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
  return (bytes === undefined ? '' : `${(bytes / kB).toFixed(2)} kB`).padStart(8)
}
