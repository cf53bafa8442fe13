/**
 * Libraries that apps are built with, which the documentation has a page for: each in the newest
 * version, fetched by scripts/prepare-tests.ts into a folder of its own.
 */
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'
import { newPeer, type Peer, run } from '../support/peers.js'

export interface Library {
  /** Of its file in `examples/`, without `.js`. */
  example: string
  peer: Peer
}

const FLAGS = ['--no-save', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund']

/** @param packages the first one is the library itself */
function library(example: string, title: string, ...packages: string[]): Library {
  const version = packages[0]!.slice(packages[0]!.lastIndexOf('@') + 1)
  return {
    example,
    peer: newPeer(`${example}-${version}`, {
      title: `${title} ${version}`,
      registry: 'npm',
      fill(folder) {
        writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
        run('npm', ['install', ...FLAGS, ...packages], folder)
      },
    }),
  }
}

/** Those whose example adds an order with its lines. */
export const DATABASES = [
  library('rxdb', 'RxDB', 'rxdb@17.6.0', 'rxjs@7.8.2'),
  library(
    'tanstack-offline',
    'TanStack offline transactions',
    '@tanstack/offline-transactions@1.0.53',
    '@tanstack/db@0.8.7',
  ),
  library('dexie-cloud', 'Dexie Cloud', 'dexie-cloud-addon@4.4.14', 'dexie@4.4.7'),
  library('powersync', 'PowerSync', '@powersync/web@2.4.0', '@journeyapps/wa-sqlite@2.0.6'),
  library('replicache', 'Replicache', 'replicache@15.3.0'),
  library('watermelondb', 'WatermelonDB', '@nozbe/watermelondb@0.28.0'),
  library('breeze', 'Breeze', 'breeze-client@2.2.2', 'rxjs@7.8.2'),
]

export const PLAYWRIGHT = library('playwright', 'Playwright', '@playwright/test@1.65.1')

/** The newest version that runs in Node 20, and what an app's tests have beside it. */
export const JSDOM = library(
  'jsdom',
  'jsdom',
  'jsdom@26.1.0',
  'vitest@4.1.12',
  'react@19.3.1',
  'react-dom@19.3.1',
)

/** Builds the documentation's site; `npm run site` names the same version. */
export const { peer: VITEPRESS } = library(
  'vitepress',
  'VitePress',
  'vitepress@2.0.0-alpha.20',
  'vite@8.3.8',
  'vue@3.5.45',
)

export const LIBRARY_PEERS: readonly Peer[] = [
  ...[...DATABASES, PLAYWRIGHT, JSDOM].map(({ peer }) => peer),
  VITEPRESS,
]

const source = (path: string) => join(import.meta.dirname, '../../src', path)

/**
 * Builds a page with an example beside its library.
 * @param folder empty
 * @param files the page's script `main.ts`, and what it imports
 * @returns the folder of what was built
 */
export async function buildPage(
  folder: string,
  { peer }: Library,
  files: Record<string, string>,
): Promise<string> {
  const page = '<!doctype html><script type="module" src="main.ts"></script>'
  const all = { 'index.html': page, ...files }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  symlinkSync(join(peer.folder, 'node_modules'), join(folder, 'node_modules'))
  const outDir = join(folder, 'dist')
  await build({
    configFile: false,
    root: folder,
    logLevel: 'error',
    resolve: {
      alias: {
        'offline-hilo/worker': source('worker/index.ts'),
        'offline-hilo/inspector': source('addons/inspector/index.ts'),
        'offline-hilo': source('index.ts'),
      },
    },
    build: { outDir, target: 'es2022' },
    worker: { format: 'es' },
  })
  return outDir
}
