/**
 * Bundles the desk's pages and its service worker from the sources, as an app that uses the package
 * would be.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type InlineConfig } from 'vite'
import { buildDocuments } from './documents.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const inRoot = (path: string) => join(ROOT, path)
const PAGES = [
  'index.html',
  'demo/four/index.html',
  'demo/minimal/index.html',
  'demo/play/index.html',
]
const COMMON: InlineConfig = { root: ROOT, configFile: false, logLevel: 'error' }

/** @param outDir is emptied first */
export async function buildDesk(outDir: string): Promise<void> {
  rmSync(outDir, { recursive: true, force: true })
  await build({
    ...COMMON,
    publicDir: inRoot('demo/public'),
    resolve: { alias: { 'offline-hilo': inRoot('src/index.ts') } },
    worker: { format: 'es' },
    build: {
      outDir,
      target: 'es2022',
      // A strict content security policy allows no script inside the page.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: { input: PAGES.map(inRoot) },
    },
  })
  await build({
    ...COMMON,
    publicDir: false,
    define: { 'self.__WB_MANIFEST': JSON.stringify(stored(outDir)) },
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      rolldownOptions: {
        input: inRoot('demo/service-worker.ts'),
        output: { format: 'iife', entryFileNames: '[name].js' },
      },
    },
  })
  buildDocuments(inRoot('docs'), join(outDir, 'docs'))
}

/** The files that the service worker keeps. It fetches one anew when its revision changes. */
const stored = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(html|js|css|svg|webmanifest)$/.test(file))
    .map((file) => ({
      url: file.replaceAll('\\', '/'),
      // The name of an asset changes with its content.
      revision: file.startsWith('assets') ? null : hashOf(join(folder, file)),
    }))

const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
