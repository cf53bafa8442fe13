/**
 * What a browser downloads: each entry beside its budget, as `npm run size` measures a new build,
 * and all that a page loads until its first id.
 */
import { spawnSync } from 'node:child_process'
import { loadsTable } from '../loads.js'
import type { Part } from '../part.js'

export const size: Part = {
  name: 'size',
  title: 'Size: what a browser downloads',
  measures: ['src', 'server/src'],
  async run({ print }) {
    const run = (script: string) =>
      spawnSync(process.execPath, ['--import', 'tsx', script], { encoding: 'utf8' })
    const built = run('scripts/build.ts')
    if (built.status !== 0) throw new Error(`The packages could not be built:\n${built.stderr}`)
    print(`\`\`\`\n${run('scripts/size.ts').stdout.trim()}\n\`\`\``)
    print(await loadsTable())
  },
}
