/** What a browser downloads of each entry, beside its budget: `npm run size` on a build of now. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Part } from '../part.js'

export const size: Part = {
  name: 'size',
  title: 'Size: what a browser downloads',
  async run({ print }) {
    const dist = mkdtempSync(join(tmpdir(), 'hilo-bench-dist-'))
    const run = (script: string) =>
      spawnSync(process.execPath, ['--import', 'tsx', script, dist], { encoding: 'utf8' })
    try {
      const built = run('scripts/build.ts')
      if (built.status !== 0) throw new Error(`The package could not be built:\n${built.stderr}`)
      print(`\`\`\`\n${run('scripts/size.ts').stdout.trim()}\n\`\`\``)
    } finally {
      rmSync(dist, { recursive: true, force: true })
    }
  },
}
