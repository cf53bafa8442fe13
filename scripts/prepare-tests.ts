/** Gets the browsers the tests need, says what it did, and fails with the ways out when there is no Chromium. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { ENGINES, type Engine } from '../test/browser/engines.js'

interface Way {
  title: string
  commands(engine: Engine): string[][]
}

const asRoot = process.getuid?.() === 0
const hasApt = existsSync('/usr/bin/apt-get')

for (const engine of ENGINES) {
  if (report(engine)) continue
  if (!engine.isRequired && !process.env.CI)
    console.log(`${engine.title}: none to use; the tests in it are left out. Debian has it: ${packages(engine)}`)
  else if (!install(engine) && engine.isRequired) {
    console.error(
      `\n${engine.title} is missing, and the browser tests cannot run without it. Any of these helps:\n` +
        `  as root on Debian or Ubuntu: apt-get install ${packages(engine)}\n` +
        '  with access to its downloads: npx playwright-core install chromium\n' +
        '  a Chromium or Chrome of your own: CHROME_PATH=/path/to/it npm test\n',
    )
    process.exitCode = 1
  }
}

function install(engine: Engine): boolean {
  if (engine.variable && process.env[engine.variable]) return false
  for (const { title, commands } of ways(engine)) {
    console.log(`${engine.title}: not there; trying ${title}.`)
    const isDone = commands(engine).every(([command, ...args]) => run(command!, args))
    if (isDone && report(engine)) return true
    console.log(`${engine.title}: ${title} did not help.`)
  }
  return false
}

function ways({ name }: Engine): Way[] {
  const found: Way[] = []
  const prefix = asRoot ? [] : ['sudo', '-n']
  if (hasApt && (asRoot || spawnSync('sudo', ['-n', 'true']).status === 0)) {
    found.push({
      title: `Debian's packages (${[...prefix, 'apt-get'].join(' ')})`,
      commands: ({ debianPackages }) => [
        [...prefix, 'apt-get', 'update', '-qq'],
        [
          ...prefix,
          'env',
          'DEBIAN_FRONTEND=noninteractive',
          'apt-get',
          'install',
          '-y',
          '-qq',
          '--no-install-recommends',
          ...debianPackages,
        ],
      ],
    })
  }
  if (name === 'chromium')
    found.push({ title: "Playwright's download", commands: () => [['npx', 'playwright-core', 'install', '--no-shell', 'chromium']] })
  return found
}

/** Says where the engine is and which; one that is there but does not start counts as missing. */
function report(engine: Engine): boolean {
  const path = engine.find()
  if (!path) return false
  const { status, stdout } = spawnSync(path, [engine.probe], { encoding: 'utf8' })
  const version = engine.probe === '--version' ? ` (${stdout?.trim()})` : ''
  console.log(`${engine.title}: ${path}${status === 0 ? version : ' does not start'}`)
  return status === 0
}

/** The installers' own chatter is shown only when they fail. */
function run(command: string, args: string[]): boolean {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) console.error(`${command} ${args.join(' ')} failed:\n${`${stdout}${stderr}`.trim().split('\n').slice(-12).join('\n')}`)
  return status === 0
}

function packages({ debianPackages }: Engine): string {
  return debianPackages.join(' ')
}
