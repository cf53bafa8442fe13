// After each build: a service worker that keeps the page and the built files, the HiLo worker, too.
import { generateSW } from 'workbox-build'

await generateSW({
  globDirectory: '.next/static',
  globPatterns: ['**/*.{js,css}'],
  modifyURLPrefix: { '': '/_next/static/' },
  additionalManifestEntries: [{ url: '/', revision: String(Date.now()) }],
  swDest: 'public/service-worker.js',
  importScripts: ['/worker-files.js'],
  inlineWorkboxRuntime: true,
  sourcemap: false,
})
