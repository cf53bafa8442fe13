/** Certificates for tests: `server.crt` of 127.0.0.1 and `client.crt`, each signed by itself. */
import { execFileSync } from 'node:child_process'

const NEW_KEY = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']

export function makeCertificates(folder: string): void {
  const make = (name: string, ...more: string[]) =>
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-days', '2', ...NEW_KEY],
        ...['-keyout', `${name}.key`, '-out', `${name}.crt`, '-subj', `/CN=${name}`, ...more],
      ],
      { cwd: folder, stdio: 'pipe' },
    )
  make('server', '-addext', 'subjectAltName=IP:127.0.0.1')
  make('client')
}
