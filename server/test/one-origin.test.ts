/**
 * The files of `server/deploy/one-origin`, as they stand there: an app's page on every address,
 * and its ids beside it, with the origin of the page compared.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
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

/** A file as it is, but for what another place has to be. Everything that is replaced is there. */
function adapted(file: string, replaced: Record<string, string>): string {
  let text = readFileSync(join(SERVER, 'deploy/one-origin', file), 'utf8')
  for (const [from, to] of Object.entries(replaced)) {
    expect(text, `${file} has ${from}`).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

const startServer = async () =>
  new URL((await startProcess(['--port', '0', '--data', newFolder()], { HILO_HOSTS: HOST })).url)
    .host

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

describe.each(PROXIES)('$title', (program, configure) => {
  test.skipIf(!program.find())(`an app and its ids on one origin${unless(program)}`, async () => {
    const server = await startServer()
    const { port } = new URL(
      await runProgram(program, (port) => configure(port, server), {
        XDG_DATA_HOME: newFolder(),
        XDG_CONFIG_HOME: newFolder(),
      }),
    )
    const site = `https://${HOST}:${port}`
    await expectAppAndIds(site, askAt(site))
  })
})

test('an app and its ids on one origin, by Express', async () => {
  const cwd = newFolder()
  renameSync(newApp(), join(cwd, 'dist'))
  expect((await runCli(['init'], {}, cwd)).code).toBe(0)
  const file = join(await cliFile(), '../express.mjs')
  writeFileSync(file, adapted('express.mjs', { "'offline-hilo-server'": "'./index.mjs'" }))
  const child = spawn(process.execPath, [file], { cwd, env: { ...process.env, PORT: '0' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stderr.on('data', (text) => console.error(String(text)))
  const [said] = await once(child.stdout, 'data')
  const site = String(said).trim()
  await expectAppAndIds(site, askAt(site))
})
