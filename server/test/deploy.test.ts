/** What `server/deploy` and the Dockerfile say, tried as far as that goes without Docker. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../test/support/free-port.js'
import { caddy, nginx, systemdAnalyze, unless } from '../../test/support/programs.js'
import { runProgram } from '../../test/support/run-program.js'
import { newFolder } from './folders.js'
import { startLoad } from './load.js'
import { cliFile, startProcess } from './processes.js'
import { askAt, newCertificate, nginxWith } from './proxies.js'

const SERVER = join(import.meta.dirname, '..')
const NEXT = '/databases/Shop/hilo/next?tag=orders'
const HOST = 'ids.example.com'
const run = promisify(execFile)

/** May this process make a file system of its own read-only? */
const mayMount = spawnSync('unshare', ['-m', 'mount', '--bind', '/', '/']).status === 0

const read = (path: string) => readFileSync(join(SERVER, path), 'utf8')

/** A file as it is, but for what another place has to be. Everything that is replaced is there. */
function adapted(path: string, replaced: Record<string, string>): string {
  let text = read(path)
  for (const [from, to] of Object.entries(replaced)) {
    expect(text, `${path} has ${from}`).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

/** Arguments of nginx, with the file of `server/deploy` at a port in front of two servers. */
function nginxArguments(port: number, [first, second]: readonly number[]): string[] {
  const { cert, key } = newCertificate(HOST)
  return nginxWith(
    adapted('deploy/nginx.conf', {
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      [`/etc/letsencrypt/live/${HOST}/fullchain.pem`]: cert,
      [`/etc/letsencrypt/live/${HOST}/privkey.pem`]: key,
      '127.0.0.1:8080': `127.0.0.1:${first}`,
      '127.0.0.1:8081': `127.0.0.1:${second}`,
    }),
  )
}

/** As `nginxArguments`. */
function caddyArguments(port: number, [first, second]: readonly number[]): string[] {
  const { cert, key } = newCertificate(HOST)
  const file = join(newFolder(), 'Caddyfile')
  const site = adapted('deploy/Caddyfile', {
    [`${HOST} {`]: `${HOST}:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`,
    '127.0.0.1:8080': `127.0.0.1:${first}`,
    '127.0.0.1:8081': `127.0.0.1:${second}`,
  })
  writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
  return ['run', '--adapter', 'caddyfile', '--config', file]
}

test.skipIf(!nginx.find())(
  `databases are parted among ledgers as docs/scaling.md says${unless(nginx)}`,
  async () => {
    const start = () => startProcess(['--port', '0', '--data', newFolder()])
    const [north, south] = [await start(), await start()]
    const url = await runProgram(nginx, (port) =>
      nginxWith(
        /```nginx\n([\s\S]*?)```/
          .exec(read('../docs/scaling.md'))![1]!
          .replace('listen 80', `listen 127.0.0.1:${port}`)
          .replace('shop.example.com', '127.0.0.1')
          .replace('127.0.0.1:8081', new URL(north.url).host)
          .replace('127.0.0.1:8082', new URL(south.url).host),
      ),
    )
    const claim = async (database: string) => {
      // A page asks so that is on the origin of the proxy.
      const answer = await fetch(`${url}/databases/${database}/hilo/next?tag=orders`, {
        headers: { Origin: url },
      })
      return ((await answer.json()) as { Low: number }).Low
    }
    const lows = []
    for (const database of ['north', 'north', 'south', 'north']) lows.push(await claim(database))
    expect(lows).toEqual([1, 33, 1, 65])
  },
)

describe.each([
  [nginx, nginxArguments],
  [caddy, caddyArguments],
] as const)('$title in front of two servers', (program, argumentsFor) => {
  test.skipIf(!program.find())(
    `a rolling restart loses no request, and pages of the name may ask${unless(program)}`,
    async () => {
      const data = newFolder()
      const ports = [await freePort(), await freePort()]
      const start = (port: number) =>
        startProcess(['--port', String(port), '--data', data], {
          HILO_DRAIN: '3',
          HILO_HOSTS: HOST,
          HILO_OPEN: 'true',
        })
      const servers = await Promise.all(ports.map(start))
      const { port } = new URL(
        await runProgram(program, (port) => argumentsFor(port, ports), {
          XDG_DATA_HOME: newFolder(),
          XDG_CONFIG_HOME: newFolder(),
        }),
      )
      const site = `https://${HOST}:${port}`
      const askSite = askAt(site)
      const ask = (path: string, headers: Record<string, string> = {}) => askSite(path, { headers })
      // Caddy has to ask for health first.
      await expect.poll(async () => (await ask('/healthz')).status).toBe(200)
      expect((await ask(NEXT, { Origin: site })).status).toBe(201)
      expect((await ask(NEXT, { Origin: 'https://evil.example' })).status).toBe(403)
      expect((await ask('/metrics')).status).toBe(404)

      const load = startLoad(16, () => ask(NEXT))
      for (const [i, port] of ports.entries()) {
        await load.granted(50)
        expect(await servers[i]!.stop()).toBe(0)
        await load.granted(50)
        servers[i] = await start(port)
        await expect.poll(async () => (await fetch(`${servers[i]!.url}/healthz`)).status).toBe(200)
        await load.granted(50)
      }
      expect(await load.stop()).toEqual([])
    },
  )
})

describe(`the unit of systemd${unless(systemdAnalyze)}`, () => {
  const unit = () => {
    const file = join(newFolder(), 'offline-hilo-server.service')
    writeFileSync(file, read('deploy/offline-hilo-server.service'))
    return file
  }

  test('finds the program wherever npm installs it', async () => {
    const { bin, name } = JSON.parse(read('package.json'))
    const text = read('deploy/offline-hilo-server.service')
    const [env, program, ...args] = /^ExecStart=(.*)$/m.exec(text)![1]!.split(' ')
    expect(env).toBe('/usr/bin/env')
    expect([program, ...args]).toEqual([Object.keys(bin)[0]])
    expect(program).toBe(name)
    // systemd itself looks in /usr/local/bin and /usr/bin.
    expect(text).not.toMatch(/^Environment=PATH=/m)
  })

  test.skipIf(!systemdAnalyze.find())(
    `is sound, and exposes little${unless(systemdAnalyze)}`,
    async () => {
      const file = unit()
      const { stdout, stderr } = await run(systemdAnalyze.find()!, ['verify', '--man=no', file])
      expect(stdout + stderr).toBe('')
      // Tenths: of 0 to 10, where a unit without any protection has 9.6.
      await run(systemdAnalyze.find()!, ['security', '--offline=yes', '--threshold=15', file])
    },
  )
})

describe('the Dockerfile', () => {
  const instructions = read('Dockerfile')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
  const last = (name: string) => instructions.findLast((line) => line.startsWith(`${name} `))!
  const json = (line: string): string[] => JSON.parse(/\[.*\]/.exec(line)![0])

  test('runs the program of the package, and stops it by SIGTERM', () => {
    const { bin, name } = JSON.parse(read('package.json'))
    const [, file] = json(last('ENTRYPOINT'))
    expect(file).toBe(`/app/node_modules/${name}/${bin[name]}`)
    expect(last('FROM')).toContain(':nonroot')
    expect(last('STOPSIGNAL')).toBe('STOPSIGNAL SIGTERM')
  })

  test('asks a server for its health', async () => {
    const [, ...args] = json(last('HEALTHCHECK'))
    const server = await startProcess(['--port', '0', '--data', newFolder()])
    const env = { ...process.env, HILO_PORT: new URL(server.url).port }
    await run(process.execPath, args, { env })
    await server.stop()
    await expect(run(process.execPath, args, { env })).rejects.toMatchObject({ code: 1 })
  })

  const unmounted = mayMount ? '' : ' (left out: mounts are not permitted)'
  test.skipIf(!mayMount)(
    `serves as nobody, on a root file system that is read-only${unmounted}`,
    async () => {
      const data = newFolder()
      mkdirSync(join(data, 'hilo-data'))
      const port = await freePort()
      const [variable, host] = last('ENV').slice('ENV '.length).split('=')
      // Everything is read-only but the volume, and the user may write nowhere else anyway.
      const script = `
        mount --bind "$1" "$1" && mount --bind / / && mount -o remount,ro,bind / &&
        chown -R 65532:65532 "$1" && cd "$1" &&
        shift && exec setpriv --reuid=65532 --regid=65532 --clear-groups "$@"`
      const file = await cliFile()
      const env = { [variable!]: host, HILO_OPEN: 'true', PATH: process.env.PATH }
      const start = (...flags: string[]) =>
        spawn('unshare', ['-m', 'sh', '-c', script, 'sh', data, process.execPath, file, ...flags], {
          env,
        })
      const unmounted = start('--port', `${port}`)
      expect(await once(unmounted, 'close')).toEqual([1, null])
      expect(await once(start('init'), 'close')).toEqual([0, null])
      const child = start('--port', `${port}`)
      onTestFinished(() => void child.kill('SIGKILL'))
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
      await once(child.stdout, 'data')
      expect(said).toContain(`offline-hilo-server serves http://0.0.0.0:${port}`)
      expect((await fetch(`http://127.0.0.1:${port}${NEXT}`)).status).toBe(201)
      const ended = once(child, 'close')
      child.kill('SIGINT')
      expect(await ended).toEqual([0, null])
    },
  )
})
