import { fileURLToPath } from 'node:url'

export default {
  serverExternalPackages: ['offline-hilo'],
  turbopack: { root: fileURLToPath(new URL('..', import.meta.url)) },
}
