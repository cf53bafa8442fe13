/** What tests of proxies share: a certificate for a name, and nginx with one site alone. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
