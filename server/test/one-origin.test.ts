/**
 * The files of `server/deploy/one-origin`, as they stand there: an app's page on every address,
 * and its ids beside it, with the origin of the page compared.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { caddy, nginx, type Program, unless } from '../../test/support/programs.js'
import { runProgram } from '../../test/support/run-program.js'
import { newFolder } from './folders.js'
import { expectAppAndIds, newApp } from './one-origin.js'
import { cliFile, startProcess } from './processes.js'
import { askAt, newCertificate, nginxWith } from './proxies.js'
import { runCli } from './run-cli.js'

const SERVER = join(import.meta.dirname, '..')
const HOST = 'app.example.com'
const NEXT = '/databases/Shop/hilo/next?tag=orders'

/** A file as it is, but for what another place has to be. Everything that is replaced is there. */
function adapted(file: string, replaced: Record<string, string>): string {
  let text = readFileSync(join(SERVER, 'deploy/one-origin', file), 'utf8')
  for (const [from, to] of Object.entries(replaced)) {
    expect(text, `${file} has ${from}`).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

async function startServer(environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const { url } = await startProcess(['--port', '0', '--data', newFolder()], environment)
  return new URL(url).host
}

const PROXIES: [Program, (port: number, server: string) => string[]][] = [
  [
    nginx,
    (port, server) => {
      const { cert, key } = newCertificate(HOST)
      const app = newApp()
      return nginxWith(
        adapted('nginx.conf', {
          'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
          [`/etc/letsencrypt/live/${HOST}/fullchain.pem`]: cert,
          [`/etc/letsencrypt/live/${HOST}/privkey.pem`]: key,
          '/var/www/app': app,
          '127.0.0.1:8080': server,
        }),
      )
    },
  ],
  [
    caddy,
    (port, server) => {
      const { cert, key } = newCertificate(HOST)
      const file = join(newFolder(), 'Caddyfile')
      const site = adapted('Caddyfile', {
        [`${HOST} {`]: `${HOST}:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`,
        '/var/www/app': newApp(),
        '127.0.0.1:8080': server,
      })
      writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
      return ['run', '--adapter', 'caddyfile', '--config', file]
    },
  ],
]

/** A claim that reaches this machine under one name, and says another one. */
async function statusFor(port: string, host: string): Promise<number> {
  const options = { host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false }
  const asked = request({ ...options, path: NEXT, headers: { Host: host } })
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode!
}

describe.each(PROXIES)('$title', (program, configure) => {
  async function startProxy(server: string): Promise<string> {
    const url = await runProgram(program, (port) => configure(port, server), {
      XDG_DATA_HOME: newFolder(),
      XDG_CONFIG_HOME: newFolder(),
    })
    return new URL(url).port
  }

  test.skipIf(!program.find())(`an app and its ids on one origin${unless(program)}`, async () => {
    const port = await startProxy(await startServer({ HILO_OPEN: 'true', HILO_HOSTS: HOST }))
    const site = `https://${HOST}:${port}`
    await expectAppAndIds(site, askAt(site))
  })

  test.skipIf(!program.find())(
    `in front of a server without tokens lets nobody in, whatever name is said${unless(program)}`,
    async () => {
      const port = await startProxy(await startServer())
      for (const host of [HOST, `${HOST}:${port}`, 'localhost', '127.0.0.1:8080', '[::1]'])
        expect(await statusFor(port, host), host).not.toBe(201)
    },
  )
})

describe('Express', () => {
  const TOKEN = 'correct-horse-battery'

  async function startExpress(environment: NodeJS.ProcessEnv) {
    const cwd = newFolder()
    renameSync(newApp(), join(cwd, 'dist'))
    expect((await runCli(['init', '--data', 'hilo-data'], {}, cwd)).code).toBe(0)
    const file = join(await cliFile(), '../express.mjs')
    writeFileSync(file, adapted('express.mjs', { "'offline-hilo-server'": "'./index.mjs'" }))
    const env = { ...process.env, PORT: '0', ...environment }
    const child = spawn(process.execPath, [file], { cwd, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (text) => (stdout += text))
    child.stderr.on('data', (text) => (stderr += text))
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')])
    return { site: stdout.trim(), stderr, code: child.exitCode }
  }

  test('serves an app and its ids on one origin, to this machine', async () => {
    const { site, stderr } = await startExpress({})
    expect(site, stderr).toMatch(/^http:\/\/127\.0\.0\.1:/)
    await expectAppAndIds(site, askAt(site))
    const other = askAt(site.replace('127.0.0.1', HOST))
    expect((await other(NEXT)).status).toBe(403)
  })

  test('starts for every network only where somebody says who may ask', async () => {
    expect(await startExpress({ HOST: '0.0.0.0' })).toMatchObject({
      code: 1,
      site: '',
      stderr: expect.stringContaining('host is 0.0.0.0, and there are no tokens'),
    })
    const { site } = await startExpress({ HOST: '0.0.0.0', ID_TOKENS: TOKEN })
    const ask = askAt(site)
    expect((await ask(NEXT)).status).toBe(403)
    expect((await ask(NEXT, { headers: { Authorization: `Bearer ${TOKEN}` } })).status).toBe(201)
    const open = await startExpress({ HOST: '0.0.0.0', HILO_OPEN: 'true' })
    expect((await askAt(open.site)(NEXT)).status).toBe(201)
  })
})
