/** The version of this package, as its package.json says. */
import { createRequire } from 'node:module'

/** By the package's own name: this file may be bundled into any folder of it. */
const packageJson: { version: string } = createRequire(import.meta.url)(
  'offline-hilo-server/package.json',
)

export const VERSION = packageJson.version
