import { fileURLToPath } from 'node:url'

export default {
  serverExternalPackages: ['@photostructure/sqlite'],
  turbopack: { root: fileURLToPath(new URL('..', import.meta.url)) },
}
