/**
 * The rules of which part of the two packages may use which (docs/internals/architecture.md),
 * checked on the sources; and that the check finds what breaks them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { arrowsBetweenParts, brokenRules } from './import-rules.js'

const ROOT = new URL('..', import.meta.url).pathname
const PAGE = readFileSync(join(ROOT, 'docs/internals/architecture.md'), 'utf8')

const sources = new Map<string, string>()
for (const folder of ['src', 'server/src'])
  for (const path of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, path)
    if (path.endsWith('.ts')) sources.set(file, readFileSync(join(ROOT, file), 'utf8'))
  }

test('the sources keep the import rules', () => {
  expect(sources.size).toBeGreaterThan(100)
  expect(brokenRules(sources)).toEqual([])
})

/** Of the drawing in docs/internals/architecture.md under the heading. */
const drawnUnder = (heading: string): string[] => {
  const drawing = /```mermaid\n([^`]*)```/.exec(PAGE.slice(PAGE.indexOf(heading)))![1]!
  return [...drawing.matchAll(/^ *([\w.-]+) (-->|-\.->) ([\w.-]+)$/gm)]
    .map(([, from, arrow, to]) => `${from} ${arrow} ${to}`)
    .sort()
}

test('the drawings in docs/internals/architecture.md are those of the sources', () => {
  const arrows = arrowsBetweenParts(sources)
  const ofServer = arrows.filter((arrow) => arrow.startsWith('server'))
  expect(drawnUnder('The browser package')).toEqual(
    arrows.filter((arrow) => !arrow.startsWith('server')),
  )
  expect(drawnUnder('The server package')).toEqual(
    ofServer.map((arrow) => arrow.replaceAll('server/', '').replaceAll('server', 'top')).sort(),
  )
})

test('the places in docs/internals/architecture.md are those of the sources', () => {
  const listed = [...PAGE.matchAll(/^((?:server\/)?src\/[\w.-]+)\/?[\w/]* /gm)].map(([, it]) => it)
  const there = [...sources.keys()].map((path) => /^(server\/)?src\/[^/]+/.exec(path)![0])
  expect([...new Set(listed)].sort()).toEqual([...new Set(there)].sort())
})

/** Each breaks one rule, in its last file. */
const BROKEN: Record<string, [files: Record<string, string>, complaint: string]> = {
  'an import of a file that is not there': [
    { 'src/core/a.ts': "import './b.js'" },
    'src/core/a.ts:1 imports ./b.js, which does not exist',
  ],
  'a cycle': [
    {
      'src/core/a.ts': "import { b } from './b.js'",
      'src/core/b.ts': "\nimport { a } from './a.js'",
    },
    'src/core/b.ts:2 closes a cycle: src/core/a.ts → src/core/b.ts → src/core/a.ts',
  ],
  'a cycle through a re-export': [
    { 'src/core/a.ts': "import { b } from './b.js'", 'src/core/b.ts': "export * from './a.js'" },
    'src/core/b.ts:1 closes a cycle: src/core/a.ts → src/core/b.ts → src/core/a.ts',
  ],
  'core using a package': [
    { 'src/core/a.ts': "import { z } from 'zod'" },
    'src/core/a.ts:1: core may not use zod',
  ],
  'core using a package as a type': [
    { 'src/core/a.ts': "import type { z } from 'zod'" },
    'src/core/a.ts:1: core may not use zod',
  ],
  'core using another part': [
    { 'src/store/b.ts': '', 'src/core/a.ts': "import '../store/b.js'" },
    'src/core/a.ts:1: core may not use store',
  ],
  'store using the worker': [
    { 'src/worker/b.ts': '', 'src/store/a.ts': "import '../worker/b.js'" },
    'src/store/a.ts:1: store may not use worker',
  ],
  'source using the store': [
    { 'src/store/b.ts': '', 'src/source/a.ts': "import '../store/b.js'" },
    'src/source/a.ts:1: source may not use store',
  ],
  'client using the store': [
    { 'src/store/b.ts': '', 'src/client/a.ts': "import { b } from '../store/b.js'" },
    'src/client/a.ts:1: client may not use store',
  ],
  'client using the store on demand': [
    { 'src/store/b.ts': '', 'src/client/a.ts': "import('../store/b.js')" },
    'src/client/a.ts:1: client may not use store',
  ],
  'client using the worker at once': [
    { 'src/worker/here.ts': '', 'src/client/a.ts': "import '../worker/here.js'" },
    'src/client/a.ts:1: client may not use worker',
  ],
  'client using idb': [
    { 'src/client/a.ts': "import { openDB } from 'idb'" },
    'src/client/a.ts:1: client may not use idb',
  ],
  'client loading more than one fallback': [
    {
      'src/worker/here.ts': '',
      'src/client/a.ts': "import('../worker/here.js')",
      'src/client/b.ts': "\n\nimport('../worker/here.js')",
    },
    'src/client/b.ts:3 loads ../worker/here.js on demand, as src/client/a.ts does: ' +
      'there is one fallback',
  ],
  'the server using more of the client than core': [
    {
      'src/client/b.ts': '',
      'server/src/http/a.ts': "import type { B } from '../../../src/client/b.js'",
    },
    'server/src/http/a.ts:1: server/http may not use client',
  ],
  'the client using the server': [
    {
      'server/src/ledger/b.ts': '',
      'src/core/a.ts': "import '../../server/src/ledger/b.js'",
    },
    'src/core/a.ts:1: core may not use server/ledger',
  ],
  'the ledger using a store': [
    {
      'server/src/sqlite/b.ts': '',
      'server/src/ledger/a.ts': "import type { B } from '../sqlite/b.js'",
    },
    'server/src/ledger/a.ts:1: server/ledger may not use server/sqlite',
  ],
  'the ledger using a database': [
    { 'server/src/ledger/a.ts': "import pg from 'pg'" },
    'server/src/ledger/a.ts:1: server/ledger may not use pg',
  ],
  'a store using another store': [
    { 'server/src/postgres/b.ts': '', 'server/src/sqlite/a.ts': "import '../postgres/b.js'" },
    'server/src/sqlite/a.ts:1: server/sqlite may not use server/postgres',
  ],
  'bound collections using a store': [
    {
      'server/src/postgres/b.ts': '',
      'server/src/bound/orm/a.ts': "import type { B } from '../../postgres/b.js'",
    },
    'server/src/bound/orm/a.ts:1: server/bound may not use server/postgres',
  ],
  'http using what only Node has': [
    { 'server/src/http/a.ts': "import { monitorEventLoopDelay } from 'node:perf_hooks'" },
    'server/src/http/a.ts:1: server/http may not use node:perf_hooks',
  ],
  "http using Node's log": [
    { 'server/src/http/a.ts': "import { pino } from 'pino'" },
    'server/src/http/a.ts:1: server/http may not use pino',
  ],
  'http using bound collections': [
    { 'server/src/bound/b.ts': '', 'server/src/http/a.ts': "import '../bound/b.js'" },
    'server/src/http/a.ts:1: server/http may not use server/bound',
  ],
  'a room using the top of the server': [
    { 'server/src/serve.ts': '', 'server/src/http/a.ts': "import '../serve.js'" },
    'server/src/http/a.ts:1: server/http may not use server',
  ],
  'the top of the server using the command line': [
    { 'server/src/cli/b.ts': '', 'server/src/serve.ts': "import './cli/b.js'" },
    'server/src/serve.ts:1: server may not use server/cli',
  ],
  'the inspector using more than types of the client': [
    { 'src/client/b.ts': '', 'src/inspector/a.ts': "import { b } from '../client/b.js'" },
    'src/inspector/a.ts:1: inspector may not use client',
  ],
  'idb in a second file': [
    {
      'src/store/a.ts': "import 'idb'",
      'src/store/b.ts': "import type { IDBPDatabase } from 'idb'",
    },
    'src/store/b.ts:1 imports idb, as src/store/a.ts does: one file owns the database',
  ],
  'a library of the server in the browser': [
    { 'src/source/a.ts': "import 'hono'" },
    'src/source/a.ts:1: source may not use hono',
  ],
  'Node in the browser': [
    { 'src/store/a.ts': "import 'node:fs'" },
    'src/store/a.ts:1: store may not use node:fs',
  ],
}

test.each(Object.entries(BROKEN))('complains of %s', (_, [files, complaint]) => {
  expect(brokenRules(new Map(Object.entries(files)))).toEqual([complaint])
})

test('allows what the parts are for', () => {
  const files = {
    'src/core/a.ts': '',
    'src/core/b.ts': "import { a } from './a.js'",
    'src/store/store.ts': "import type { B } from '../core/b.js'",
    'src/store/idb.ts': "import 'idb'; import '../core/b.js'",
    'src/source/raven.ts': "import '../core/b.js'",
    'src/worker/here.ts': "import '../store/idb.js'; import '../source/raven.js'",
    'src/worker/entry.ts': "import 'comlink'; import './here.js'",
    'src/worker/index.ts': "import '../client/page.js'",
    'src/client/page.ts': "import 'comlink'; import type { S } from '../store/store.js'",
    'src/client/create.ts':
      "import('../worker/here.js'); new Worker(new URL('../worker/entry.js', import.meta.url))",
    'src/inspector/element.ts': "import type { A } from '../index.js'",
    'server/src/ledger/ledger.ts': "import 'node:crypto'",
    'server/src/http/handler.ts':
      "import 'hono'; import '../ledger/ledger.js'; import '../../../src/core/b.js'",
    'server/src/sqlite/store.ts': "import '@photostructure/sqlite'; import '../ledger/ledger.js'",
    'server/src/postgres/store.ts': "import 'pg'; import type { L } from '../ledger/ledger.js'",
    'server/src/bound/orm/blocks.ts': "import '../../ledger/ledger.js'",
    'server/src/serve.ts': "import './http/handler.js'; import('./sqlite/store.js')",
    'server/src/cli/main.ts':
      "import 'commander'; import '../serve.js'; import '../bound/orm/blocks.js'",
    'src/index.ts':
      "export { create } from './client/create.js'; export type { A } from './core/a.js'",
  }
  expect(brokenRules(new Map(Object.entries(files)))).toEqual([])
})
