import { fileURLToPath } from 'node:url'

export default {
  serverExternalPackages: ['libsql'],
  turbopack: { root: fileURLToPath(new URL('..', import.meta.url)) },
}
