// After each build: a service worker that keeps the built files, the HiLo worker, too.
import { generateSW } from 'workbox-build'

await generateSW({
  globDirectory: 'dist',
  globPatterns: ['**/*.{html,js,css,ico}'],
  swDest: 'dist/service-worker.js',
  inlineWorkboxRuntime: true,
  sourcemap: false,
})
