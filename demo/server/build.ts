/**
 * Bundles the desk's pages and its service worker from the sources, as an app that uses the package
 * would be.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOG_LEVEL = 'error'

/** @param outDir is emptied first */
export async function buildDesk(outDir: string): Promise<void> {
  rmSync(outDir, { recursive: true, force: true })
  await build({
    root: ROOT,
    configFile: false,
    logLevel: LOG_LEVEL,
    publicDir: join(ROOT, 'demo/public'),
    resolve: { alias: { 'offline-hilo': join(ROOT, 'src/index.ts') } },
    worker: { format: 'es' },
    build: {
      outDir,
      target: 'es2022',
      // A strict content security policy allows no script inside the page.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: [
          'index.html',
          'demo/four/index.html',
          'demo/minimal/index.html',
          'demo/play/index.html',
        ].map((page) => join(ROOT, page)),
      },
    },
    plugins: [
      VitePWA({
        strategies: 'injectManifest',
        srcDir: 'demo',
        filename: 'service-worker.ts',
        injectRegister: false,
        injectManifest: {
          globPatterns: ['**/*.{html,js,css,svg}'],
          rollupFormat: 'iife',
          // The service worker is built separately, with a log level of its own.
          buildPlugins: { vite: [{ name: 'quiet', config: () => ({ logLevel: LOG_LEVEL }) }] },
        },
        manifest: {
          id: '/',
          name: 'Order desk',
          short_name: 'Orders',
          description: 'Orders with final, short ids, made online or offline.',
          start_url: '/',
          display: 'standalone',
          theme_color: '#0b6e69',
          background_color: '#f6f7f7',
          icons: [{ src: '/icon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' }],
        },
      }),
    ],
  })
  cpSync(join(ROOT, 'docs'), join(outDir, 'docs'), { recursive: true })
}
