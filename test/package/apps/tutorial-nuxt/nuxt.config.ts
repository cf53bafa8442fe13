import { generateSW } from 'workbox-build'

export default defineNuxtConfig({
  compatibilityDate: '2026-11-01',
  // The browser alone renders the page, so `hilo` is made nowhere else.
  routeRules: { '/': { ssr: false } },
  // The server finds its native library in `node_modules`.
  nitro: { externals: { trace: false } },
  // So that the dev server finds the HiLo worker.
  vite: { optimizeDeps: { exclude: ['offline-hilo'] } },
  hooks: {
    // A service worker that keeps the page and the built files, the HiLo worker, too.
    'nitro:build:public-assets': async ({ options: { output } }) => {
      await generateSW({
        globDirectory: output.publicDir,
        globPatterns: ['**/*.{js,css,json}'],
        additionalManifestEntries: [{ url: '/', revision: String(Date.now()) }],
        swDest: `${output.publicDir}/service-worker.js`,
      })
    },
  },
})
