/**
 * Gets the browsers that the tests need, and the servers and libraries that some tests use. Says
 * what it did, and how to get a Chromium if there is none.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { PEERS } from '../server/test/interop/peers.js'
import { ENGINES, testedEngines } from '../test/browser/engines.js'
import { LIBRARY_PEERS } from '../test/browser/libraries.js'
import { RUNTIME_PEERS } from '../test/processes/runtimes.js'
import { ensure, GROUPS, TOOLS } from '../test/support/groups.js'
import { install as installPeer, isInstalled, type Peer } from '../test/support/peers.js'
import { PROGRAMS } from '../test/support/programs.js'
import { isBrief, isFull } from '../test/support/sizes.js'

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

/** Registries that did not answer, or did not have what was asked for. */
const silent = new Set<string>()

/**
 * Says in two lines what there is and what is left out; more where it installs something.
 * @returns what to do when there is no Chromium, undefined when there is one
 */
export function prepare(): string | undefined {
  if (isFull) for (const group of GROUPS) if (group !== TOOLS) ensure(group)
  const left = ENGINES.filter((engine) => !testedEngines().includes(engine) && !isFull)
  const tools = ([...ENGINES, ...PROGRAMS] as Tool[]).filter(
    (tool) => !(left as Tool[]).includes(tool),
  )
  const absent = tools.filter((tool) => !report(tool) && !(wanted(tool) && install(tool)))
  const peers = [...PEERS, ...RUNTIME_PEERS, ...LIBRARY_PEERS].filter((peer) => !fetched(peer))
  const missing = absent.filter(({ isRequired }) => !isRequired).length + peers.length
  if (isFull) tellTheGate([...absent, ...peers])
  const parts = [
    ...(isBrief() ? ['long tests'] : []),
    ...left.map(({ title }) => title),
    ...(missing > 0 ? [`tests with ${missing} programs and libraries that are not here`] : []),
  ]
  if (parts.length > 0)
    console.log(`Left out: ${parts.join(', ')}. CI=true npm test runs all of it.`)
  const browser = absent.find(({ isRequired }) => isRequired)
  return browser && howToGet(browser)
}

/** What could not be got: the gate excuses the tests that need it, and no others. */
function tellTheGate(absent: readonly { title: string }[]): void {
  mkdirSync('test-results', { recursive: true })
  writeFileSync('test-results/absent.json', JSON.stringify(absent.map(({ title }) => title)))
}

const wanted = (tool: Tool): boolean => Boolean(tool.isRequired) || isFull

const howToGet = (tool: Tool): string =>
  `\n${tool.title} is missing, and the browser tests cannot run without it.\n` +
  'Do one of these:\n' +
  `  as root on Debian or Ubuntu: apt-get install ${tool.debianPackages.join(' ')}\n` +
  '  if you can reach Playwright’s downloads: npx playwright-core install chromium\n' +
  '  a Chromium or Chrome of your own: CHROME_PATH=/path/to/it npm test\n'

/** Fetches it with `CI=true`. @returns whether it is there */
function fetched(peer: Peer): boolean {
  const { title, registry } = peer
  if (isInstalled(peer)) return true
  if (!isFull || silent.has(registry)) return false
  console.log(`${title}: not found; fetching it with ${registry}.`)
  try {
    installPeer(peer)
    return true
  } catch (error) {
    silent.add(registry)
    console.error(`${title}: could not be fetched; the tests with it are left out. ${error}`)
    return false
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

/** Says where a browser is, and its version. A tool that does not start counts as missing. */
function report(tool: Tool): boolean {
  const path = tool.find()
  if (!path) return false
  const { status, stdout } = spawnSync(path, [tool.probe], { encoding: 'utf8' })
  const version = tool.probe.includes('version') ? ` (${stdout?.trim()})` : ''
  if (status !== 0) console.log(`${tool.title}: ${path} does not start`)
  else if (wanted(tool)) console.log(`${tool.title}: ${path}${version}`)
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

if (process.argv[1] === import.meta.filename) {
  const missing = prepare()
  if (missing) {
    console.error(missing)
    process.exitCode = 1
  }
}
