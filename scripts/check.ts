/**
 * `npm run check`: types, lint, unused code, build, packages and sizes. Steps that do not need the
 * build run beside it. Prints the output of each step when it ends, and fails if a step fails.
 */
import { spawn } from 'node:child_process'
import { delimiter } from 'node:path'

const PATH = ['node_modules/.bin', process.env.PATH].join(delimiter)

/** @returns whether the command succeeded */
function run(command: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, env: { FORCE_COLOR: '1', ...process.env, PATH } })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
      })
    child.once('close', (code) => {
      console.log(`${code === 0 ? '✓' : '✗'} ${command}\n${said.trimEnd()}\n`)
      resolve(code === 0)
    })
  })
}

const all = async (...steps: Promise<boolean>[]) => (await Promise.all(steps)).every(Boolean)

const buildAndCheckPackages = async () =>
  (await run('tsx scripts/build.ts')) &&
  (await all(
    run('publint --strict'),
    run('publint --strict server'),
    run('attw --pack . --profile esm-only'),
    run('attw --pack server --profile esm-only'),
    run('tsx scripts/size.ts'),
  ))

const isGood = await all(
  run('tsc --noEmit'),
  run('biome check .'),
  run('knip'),
  buildAndCheckPackages(),
)
if (!isGood) process.exitCode = 1
