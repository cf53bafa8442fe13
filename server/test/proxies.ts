/**
 * What tests of proxies share: a certificate for a name, nginx with one site alone, and how to ask
 * for a name that no name server has.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, fetch, type RequestInit, type Response } from 'undici'
import { onTestFinished } from 'vitest'
import { newFolder } from './folders.js'

export function newCertificate(host: string): { cert: string; key: string } {
  const folder = newFolder()
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  execFileSync('openssl', [...args, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key }
}

/** @param text of one site */
export function nginxWith(text: string): string[] {
  const folder = newFolder()
  const site = join(folder, 'site.conf')
  writeFileSync(site, text)
  const main = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(' ')
  writeFileSync(
    main,
    `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr; events {}
     http { access_log off; ${temporary} include ${site}; }`,
  )
  return ['-c', main, '-p', folder, '-e', 'stderr']
}

export type AskSite = (path: string, init?: RequestInit) => Promise<Response>

/** To be called inside a test: asks that site on this machine, whoever made its certificate. */
export function askAt(site: string): AskSite {
  const dispatcher = new Agent({
    connect: {
      rejectUnauthorized: false,
      lookup: (_, __, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
    },
  })
  onTestFinished(() => dispatcher.destroy())
  return (path, init) => fetch(site + path, { dispatcher, ...init })
}
