import { readFileSync } from 'node:fs'
import { mergeConfig } from 'vite'
import config from './vite.config'

/** The built page over https, for a phone that trusts the certificate. */
export default mergeConfig(config, {
  preview: { https: { cert: readFileSync('dev.crt'), key: readFileSync('dev.key') } },
})
