import { fileURLToPath } from 'node:url'

export default {
  mode: 'production',
  entry: { main: '../app/main.js' },
  context: fileURLToPath(new URL('.', import.meta.url)),
  output: { path: fileURLToPath(new URL('dist', import.meta.url)) },
}
