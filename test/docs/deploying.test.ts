/**
 * Follows docs/deploying.md word by word, and the commands of docs/regions.md. `docker`, `npm` and
 * `systemctl` are played: they do with our program what the page's arguments, the Dockerfile and
 * the unit say.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describe, expect, test } from 'vitest'
import { newDatabase } from '../../server/test/postgres.js'
import { freePort } from '../support/free-port.js'
import { addressOf, commandsIn, newShell, type Shell } from './shell.js'

const REPOSITORY = new URL('../../', import.meta.url).pathname
const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8')
const [CONTAINER, SYSTEMD] = commandsIn(read('docs/deploying.md')) as [string[], string[]]
const TOKEN = 'a-token-of-thirty-two-characters'

const claim = (url: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/databases/Shop/hilo/next?tag=orders`, { headers })

async function lowOf(url: string, headers?: Record<string, string>): Promise<number> {
  const answer = await claim(url, headers)
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { Low: number }).Low
}

const health = async (url: string) => (await fetch(`${url}/healthz`)).status

/** What it said, once it has ended by itself, with an error. */
async function failureOf(child: ChildProcess): Promise<string> {
  let said = ''
  child.stderr!.on('data', (text) => (said += text))
  expect((await once(child, 'close'))[0]).not.toBe(0)
  return said
}

async function stopped(child: ChildProcess, url: string): Promise<number | null> {
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await expect.poll(() => health(url)).toBe(503)
  // A second one ends the time for load balancers.
  child.kill('SIGTERM')
  return (await closed)[0]
}

describe('a container', () => {
  const [build, init, serve] = CONTAINER as [string, string, string]

  /** Runs `docker run …` of the page. Its volumes and mounts are in the shell's folder. */
  async function docker(shell: Shell, line: string, more: NodeJS.ProcessEnv = {}) {
    const { values, positionals } = parseArgs({
      args: line.split(' ').slice(1),
      allowPositionals: true,
      options: {
        rm: { type: 'boolean' },
        'read-only': { type: 'boolean' },
        'stop-timeout': { type: 'string' },
        publish: { type: 'string' },
        volume: { type: 'string', multiple: true },
        env: { type: 'string', multiple: true, default: [] },
      },
    })
    const [command, image, ...args] = positionals
    expect([command, image]).toEqual(['run', 'offline-hilo-server'])
    const instructions = read('server/Dockerfile').split('\n')
    const given = instructions.flatMap((text) => /^ENV (\S+)$/.exec(text)?.[1] ?? [])
    const isMounted = values.volume!.some((each) => each.endsWith(':/hilo-data'))
    expect([isMounted, instructions.includes('VOLUME /hilo-data')]).toEqual([true, true])
    // A new volume is empty.
    mkdirSync(join(shell.folder, 'hilo-data'), { recursive: true })
    const env = Object.fromEntries(
      [...given, ...values.env!].map((text) => text.replace('=/', `=${shell.folder}/`).split('=')),
    )
    const published = values.publish && { HILO_PORT: String(await freePort()) }
    return shell.start(`offline-hilo-server ${args.join(' ')}`, { ...published, ...env, ...more })
  }

  test('is built from a file that is there, in the folder of the repository', () => {
    const [, file, place] = /^docker build --file (\S+) --tag offline-hilo-server (\S+)$/.exec(
      build,
    )!
    expect([existsSync(join(REPOSITORY, file!)), place]).toEqual([true, '.'])
  })

  test('serves with tokens, once init has made its ledger', async () => {
    const shell = await newShell()
    const settings = { tokens: [TOKEN], databases: 'any' }
    writeFileSync(join(shell.folder, 'hilo.json'), JSON.stringify(settings))
    expect(await failureOf(await docker(shell, serve))).toContain('There is no ledger in')
    expect((await once(await docker(shell, init), 'close'))[0]).toBe(0)
    const server = await docker(shell, serve)
    const url = await addressOf(server)
    expect(await health(url)).toBe(200)
    expect((await claim(url)).status).toBe(403)
    expect(await lowOf(url, { Authorization: `Bearer ${TOKEN}` })).toBe(1)
    expect(await stopped(server, url)).toBe(0)
    const again = await addressOf(await docker(shell, serve))
    expect(await lowOf(again, { Authorization: `Bearer ${TOKEN}` })).toBe(33)
  })

  test('without tokens it starts only if everybody may ask', async () => {
    const shell = await newShell()
    writeFileSync(join(shell.folder, 'hilo.json'), '{}')
    await once(await docker(shell, init), 'close')
    expect(await failureOf(await docker(shell, serve))).toContain('tokens')
    const open = await docker(shell, serve, { HILO_OPEN: 'true' })
    expect(await lowOf(await addressOf(open))).toBe(1)
  })

  test('with DATABASE_URL it uses PostgreSQL, and init does, too', async () => {
    const shell = await newShell()
    writeFileSync(join(shell.folder, 'hilo.json'), '{"open": true}')
    const variables = { DATABASE_URL: await newDatabase() }
    expect(await failureOf(await docker(shell, serve, variables))).toContain('There is no ledger')
    expect((await once(await docker(shell, init, variables), 'close'))[0]).toBe(0)
    expect(await lowOf(await addressOf(await docker(shell, serve, variables)))).toBe(1)
    expect(existsSync(join(shell.folder, 'hilo-data/hilo.db'))).toBe(false)
  })
})

describe('systemd', () => {
  const STATE = '/var/lib/offline-hilo-server'
  const UNITS = '/etc/systemd/system/'
  const [install, init, copy, enable] = SYSTEMD as [string, string, string, string]

  /** The service as its unit says, with the folders of the page inside of the shell's. */
  function serviceIn({ folder, start }: Shell): ChildProcess {
    const unit = readFileSync(join(folder, UNITS, 'offline-hilo-server.service'), 'utf8')
    const valuesOf = (name: string) =>
      [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!)
    const [file] = valuesOf('EnvironmentFile').map((path) => join(folder, path.replace(/^-/, '')))
    const lines = existsSync(file!) ? readFileSync(file!, 'utf8').trim().split('\n') : []
    const env = Object.fromEntries(
      [...valuesOf('Environment'), ...lines].map((line) => line.split(/=(.*)/).slice(0, 2)),
    )
    const [program] = valuesOf('ExecStart').map((path) => path.replace('/usr/local/bin/', ''))
    const [place] = valuesOf('WorkingDirectory').map((path) => path.replace('%S', '/var/lib'))
    expect([valuesOf('StateDirectory'), place]).toEqual([['offline-hilo-server'], STATE])
    const data = join(folder, place!)
    mkdirSync(data, { recursive: true })
    return start(`sh -c 'cd ${data} && exec ${program}'`, env)
  }

  async function newHost() {
    const shell = await newShell()
    const { folder } = shell
    for (const program of ['npm', 'systemctl'])
      shell.add(program, `echo "$0 $@" >> ${folder}/asked`)
    const inFolder = (line: string) =>
      line.replaceAll(STATE, folder + STATE).replaceAll(UNITS, folder + UNITS)
    mkdirSync(join(folder, UNITS), { recursive: true })
    writeFileSync(
      join(folder, 'offline-hilo-server.service'),
      read('server/deploy/offline-hilo-server.service'),
    )
    const setting = (line: string) =>
      writeFileSync(join(folder, 'etc/offline-hilo-server.env'), `HILO_PORT=0\n${line}\n`)
    setting('HILO_NODE_TAG=B')
    const run = (...lines: string[]) => shell.run(lines.map(inFolder))
    const asked = () => readFileSync(join(folder, 'asked'), 'utf8')
    return { shell, run, setting, asked }
  }

  test('the service serves the ledger of init', async () => {
    const { shell, run, asked } = await newHost()
    await run(install, init, copy, enable)
    expect(asked()).toMatch(/npm install --global offline-hilo-server\n.*systemctl enable --now/)
    const service = serviceIn(shell)
    const url = await addressOf(service)
    expect(await health(url)).toBe(200)
    const answer = await (await claim(url)).json()
    expect(answer).toMatchObject({ Low: 1, ServerTag: 'B' })
    expect(await stopped(service, url)).toBe(0)
  })

  test('for PostgreSQL, init takes --database-url', async () => {
    const { shell, run, setting } = await newHost()
    const url = await newDatabase()
    await run(init.replace(/--data \S+/, `--database-url ${url}`), copy)
    setting(`DATABASE_URL=${url}`)
    expect(await lowOf(await addressOf(serviceIn(shell)))).toBe(1)
  })
})

test('on SIGTERM health says 503, and everything is answered on', async () => {
  const { start, run } = await newShell()
  await run(['npx offline-hilo-server init --data data'])
  const child = start('npx offline-hilo-server --data data --port 0')
  const url = await addressOf(child)
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await expect.poll(() => health(url)).toBe(503)
  const answer = await claim(url)
  expect([answer.status, answer.headers.get('Connection')]).toEqual([201, 'close'])
  child.kill('SIGTERM')
  expect((await closed)[0]).toBe(0)
})

test('a region of docs/regions.md serves numbers of its root', async () => {
  const page = read('docs/regions.md')
  const region = /```json\n(\{"upstream": \{"url".*)\n```/.exec(page)![1]!
  const [init, serve] = commandsIn(page).find(([first]) => first!.includes('region.json'))!
  const { folder, run, start } = await newShell()
  const settings = { tokens: [{ token: TOKEN, devices: 40 }], databases: 'any' }
  writeFileSync(join(folder, 'root.json'), JSON.stringify(settings))
  await run(['npx offline-hilo-server init --data root'])
  const root = start('npx offline-hilo-server --config root.json --data root --port 0')
  const upstream = region.replace('https://ids.example.com', await addressOf(root))
  writeFileSync(join(folder, 'region.json'), upstream.replace('…', TOKEN))
  await run([init!])
  const url = await addressOf(start(serve!, { HILO_PORT: '0' }))
  expect(await lowOf(url)).toBe(1)
  root.kill('SIGKILL')
  await once(root, 'close')
  expect(await lowOf(url)).toBe(33)
})
