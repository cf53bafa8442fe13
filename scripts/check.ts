/**
 * `npm run check`: types, lint, unused code, build, packages and sizes. Steps that do not need the
 * build run beside it. Ticks each step off in one line, prints the output of those that fail, and
 * fails if one does. Says last which measured figures are older than the code they are about.
 */
import { spawn } from 'node:child_process'
import { readFigures } from '../bench/written.js'
import { ensure, GROUPS, TOOLS_PATH } from '../test/support/groups.js'

const ENVIRONMENT = { FORCE_COLOR: '1', ...process.env, PATH: TOOLS_PATH }

/** Of the steps that failed, with what they printed. */
const failures: string[] = []

/** @returns whether the command succeeded */
function run(step: string, command: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, env: ENVIRONMENT })
    const start = performance.now()
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
      })
    child.once('close', (code) => {
      const seconds = Math.round((performance.now() - start) / 1_000)
      process.stdout.write(`${code === 0 ? '✓' : '✗'} ${step} ${seconds} s  `)
      if (code !== 0) failures.push(`✗ ${command}\n${said.trimEnd()}`)
      resolve(code === 0)
    })
  })
}

const all = async (...steps: Promise<boolean>[]) => (await Promise.all(steps)).every(Boolean)

const buildAndCheckPackages = async () =>
  (await run('build', 'tsx scripts/build.ts')) &&
  (await all(
    run('package', 'publint --strict'),
    run('server package', 'publint --strict server'),
    run('exports', 'attw --pack . --profile esm-only'),
    run('server exports', 'attw --pack server --profile esm-only'),
    run('sizes', 'tsx scripts/size.ts'),
  ))

for (const group of GROUPS) ensure(group)
const isGood = await all(
  run('types', 'tsc --noEmit'),
  run('lint', 'biome check --error-on-warnings .'),
  run('unused code', 'knip'),
  buildAndCheckPackages(),
)
console.log(failures.map((failure) => `\n\n${failure}`).join(''))
for (const { name, older } of readFigures())
  if (older.length > 0) console.log(`Figures of the bench '${name}' are old: ${older.join(', ')}.`)
if (!isGood) process.exitCode = 1
