/**
 * Gets the browsers that the tests need, and the servers and libraries that some tests use. Says
 * what it did. If there is no Chromium, it fails and says how to get one.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { PEERS } from '../server/test/interop/peers.js'
import { ENGINES, testedEngines } from '../test/browser/engines.js'
import { LIBRARY_PEERS } from '../test/browser/libraries.js'
import { RUNTIME_PEERS } from '../test/processes/runtimes.js'
import { install as installPeer, isInstalled } from '../test/support/peers.js'
import { PROGRAMS } from '../test/support/programs.js'
import { isFull, leftOut } from '../test/support/sizes.js'

/** A browser, or another program. */
interface Tool {
  name: string
  title: string
  isRequired?: boolean
  debianPackages: string[]
  variable?: string
  probe: string
  find(): string | undefined
}

interface Way {
  title: string
  commands(tool: Tool): string[][]
}

const asRoot = process.getuid?.() === 0
const hasApt = existsSync('/usr/bin/apt-get')
/** Debian's lists of packages are fetched once. */
let areListsFresh = false

const left = ENGINES.filter((engine) => !testedEngines().includes(engine) && !isFull)
if (left.length > 0)
  console.log(
    `${left.map(({ title }) => title).join(', ')}: not used; CI=true runs the tests there.`,
  )

if (leftOut.length > 0) console.log(`Not run without CI=true:\n  ${leftOut.join('\n  ')}`)

for (const tool of [...ENGINES, ...PROGRAMS] as Tool[]) {
  if ((left as Tool[]).includes(tool) || report(tool)) continue
  if (!tool.isRequired && !isFull)
    console.log(
      `${tool.title}: not found; the tests with it are left out. Debian has it: ` +
        `${packages(tool)}`,
    )
  else if (!install(tool) && tool.isRequired) {
    console.error(
      `\n${tool.title} is missing, and the browser tests cannot run without it.\n` +
        'Do one of these:\n' +
        `  as root on Debian or Ubuntu: apt-get install ${packages(tool)}\n` +
        '  if you can reach Playwright’s downloads: npx playwright-core install chromium\n' +
        '  a Chromium or Chrome of your own: CHROME_PATH=/path/to/it npm test\n',
    )
    process.exitCode = 1
  }
}

/** Registries that did not answer, or did not have what was asked for. */
const silent = new Set<string>()
for (const peer of [...PEERS, ...RUNTIME_PEERS, ...LIBRARY_PEERS]) {
  const { title, registry } = peer
  if (isInstalled(peer)) console.log(`${title}: ${peer.folder}`)
  else if (!isFull)
    console.log(`${title}: not installed; the tests with it are left out. CI=true installs it.`)
  else if (silent.has(registry))
    console.log(`${title}: left out, because ${registry} did not give it.`)
  else {
    console.log(`${title}: not found; fetching it with ${registry}.`)
    try {
      installPeer(peer)
    } catch (error) {
      silent.add(registry)
      console.error(`${title}: could not be fetched; the tests with it are left out. ${error}`)
    }
  }
}

function install(tool: Tool): boolean {
  if (tool.variable && process.env[tool.variable]) return false
  for (const { title, commands } of ways(tool)) {
    console.log(`${tool.title}: not found; trying ${title}.`)
    const isDone = commands(tool).every(([command, ...args]) => run(command!, args))
    areListsFresh ||= isDone
    if (isDone && report(tool)) return true
    console.log(`${tool.title}: ${title} did not bring it.`)
  }
  return false
}

function ways({ name }: Tool): Way[] {
  const found: Way[] = []
  const prefix = asRoot ? [] : ['sudo', '-n']
  if (hasApt && (asRoot || spawnSync('sudo', ['-n', 'true']).status === 0)) {
    found.push({
      title: `Debian's packages (${[...prefix, 'apt-get'].join(' ')})`,
      commands: ({ debianPackages }) => [
        ...(areListsFresh ? [] : [[...prefix, 'apt-get', 'update', '-qq']]),
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
    found.push({
      title: "Playwright's download",
      commands: () => [['npx', 'playwright-core', 'install', '--no-shell', 'chromium']],
    })
  return found
}

/** Says where the tool is, and its version. A tool that does not start counts as missing. */
function report(tool: Tool): boolean {
  const path = tool.find()
  if (!path) return false
  const { status, stdout } = spawnSync(path, [tool.probe], { encoding: 'utf8' })
  const version = tool.probe.includes('version') ? ` (${stdout?.trim()})` : ''
  console.log(`${tool.title}: ${path}${status === 0 ? version : ' does not start'}`)
  return status === 0
}

/** Shows what an installer prints only if it fails. */
function run(command: string, args: string[]): boolean {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) {
    const lastLines = `${stdout}${stderr}`.trim().split('\n').slice(-12).join('\n')
    console.error(`${command} ${args.join(' ')} failed:\n${lastLines}`)
  }
  return status === 0
}

function packages({ debianPackages }: Tool): string {
  return debianPackages.join(' ')
}
