/**
 * Runs a command of `npm run check` by itself, after what it needs is installed.
 *
 *     with-groups.ts "knip"
 *     with-groups.ts scripts/tools "biome check --write ."
 */
import { spawnSync } from 'node:child_process'
import { ensure, GROUPS, TOOLS_PATH } from '../test/support/groups.js'

const command = process.argv.at(-1)!
const groups = process.argv.slice(2, -1)
for (const group of groups.length > 0 ? groups : GROUPS) ensure(group)
const env = { ...process.env, PATH: TOOLS_PATH }
const { status } = spawnSync(command, { shell: true, stdio: 'inherit', env })
process.exitCode = status ?? 1
