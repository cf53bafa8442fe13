/**
 * The rules of which part of `src` may use which (docs/architecture.md), checked on the sources;
 * and that the check finds what breaks them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { arrowsBetweenParts, brokenRules } from './import-rules.js'

const SRC = new URL('../src', import.meta.url).pathname

const sources = new Map<string, string>()
for (const path of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
  if (path.endsWith('.ts')) sources.set(path, readFileSync(join(SRC, path), 'utf8'))
}

test('src keeps the import rules', () => {
  expect(sources.size).toBeGreaterThan(20)
  expect(brokenRules(sources)).toEqual([])
})

test('the drawing and the list of places in docs/architecture.md are those of the sources', () => {
  const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8')
  const drawing = /```mermaid\n([^`]*)```/.exec(page)![1]!
  const drawn = [...drawing.matchAll(/^ *([\w.]+) (-->|-\.->) ([\w.]+)$/gm)].map(
    ([, from, arrow, to]) => `${from} ${arrow} ${to}`,
  )
  expect(drawn.sort()).toEqual(arrowsBetweenParts(sources))
  const places = [...page.matchAll(/^src\/([\w.]+)\/? /gm)].map(([, place]) => place)
  expect(places.sort()).toEqual(
    [...new Set([...sources.keys()].map((path) => path.split('/')[0]))].sort(),
  )
})

/** Each breaks one rule, in its last file. */
const BROKEN: Record<string, [files: Record<string, string>, complaint: string]> = {
  'an import of a file that is not there': [
    { 'core/a.ts': "import './b.js'" },
    'core/a.ts:1 imports ./b.js, which does not exist',
  ],
  'a cycle': [
    { 'core/a.ts': "import { b } from './b.js'", 'core/b.ts': "\nimport { a } from './a.js'" },
    'core/b.ts:2 closes a cycle: core/a.ts → core/b.ts → core/a.ts',
  ],
  'a cycle through a re-export': [
    { 'core/a.ts': "import { b } from './b.js'", 'core/b.ts': "export * from './a.js'" },
    'core/b.ts:1 closes a cycle: core/a.ts → core/b.ts → core/a.ts',
  ],
  'core using a package': [
    { 'core/a.ts': "import { z } from 'zod'" },
    'core/a.ts:1: core may not use zod',
  ],
  'core using a package as a type': [
    { 'core/a.ts': "import type { z } from 'zod'" },
    'core/a.ts:1: core may not use zod',
  ],
  'core using another part': [
    { 'store/b.ts': '', 'core/a.ts': "import '../store/b.js'" },
    'core/a.ts:1: core may not use store',
  ],
  'store using the worker': [
    { 'worker/b.ts': '', 'store/a.ts': "import '../worker/b.js'" },
    'store/a.ts:1: store may not use worker',
  ],
  'source using the store': [
    { 'store/b.ts': '', 'source/a.ts': "import '../store/b.js'" },
    'source/a.ts:1: source may not use store',
  ],
  'client using the store': [
    { 'store/b.ts': '', 'client/a.ts': "import { b } from '../store/b.js'" },
    'client/a.ts:1: client may not use store',
  ],
  'client using the store on demand': [
    { 'store/b.ts': '', 'client/a.ts': "import('../store/b.js')" },
    'client/a.ts:1: client may not use store',
  ],
  'client using the worker at once': [
    { 'worker/here.ts': '', 'client/a.ts': "import '../worker/here.js'" },
    'client/a.ts:1: client may not use worker',
  ],
  'client using idb': [
    { 'client/a.ts': "import { openDB } from 'idb'" },
    'client/a.ts:1: client may not use idb',
  ],
  'client loading more than one fallback': [
    {
      'worker/here.ts': '',
      'client/a.ts': "import('../worker/here.js')",
      'client/b.ts': "\n\nimport('../worker/here.js')",
    },
    'client/b.ts:3 loads ../worker/here.js on demand, as client/a.ts does: there is one fallback',
  ],
  'server using the client': [
    { 'client/b.ts': '', 'server/a.ts': "import type { B } from '../client/b.js'" },
    'server/a.ts:1: server may not use client',
  ],
  'the inspector using more than types of the client': [
    { 'client/b.ts': '', 'inspector/a.ts': "import { b } from '../client/b.js'" },
    'inspector/a.ts:1: inspector may not use client',
  ],
  'idb in a second file': [
    { 'store/a.ts': "import 'idb'", 'store/b.ts': "import type { IDBPDatabase } from 'idb'" },
    'store/b.ts:1 imports idb, as store/a.ts does: one file owns the database',
  ],
  'a library of the server in the browser': [
    { 'source/a.ts': "import 'hono'" },
    'source/a.ts:1: source may not use hono',
  ],
  'Node in the browser': [
    { 'store/a.ts': "import 'node:fs'" },
    'store/a.ts:1: store may not use node:fs',
  ],
}

test.each(Object.entries(BROKEN))('complains of %s', (_, [files, complaint]) => {
  expect(brokenRules(new Map(Object.entries(files)))).toEqual([complaint])
})

test('allows what the parts are for', () => {
  const files = {
    'core/a.ts': '',
    'core/b.ts': "import { a } from './a.js'",
    'store/store.ts': "import type { B } from '../core/b.js'",
    'store/idb.ts': "import 'idb'; import '../core/b.js'",
    'source/raven.ts': "import '../core/b.js'",
    'worker/here.ts': "import '../store/idb.js'; import '../source/raven.js'",
    'worker/entry.ts': "import 'comlink'; import './here.js'",
    'worker/index.ts': "import '../client/page.js'",
    'client/page.ts': "import 'comlink'; import type { S } from '../store/store.js'",
    'client/create.ts':
      "import('../worker/here.js'); new Worker(new URL('../worker/entry.js', import.meta.url))",
    'inspector/element.ts': "import type { A } from '../index.js'",
    'server/http.ts': "import 'hono'; import 'node:fs'; import '../core/b.js'",
    'index.ts': "export { create } from './client/create.js'; export type { A } from './core/a.js'",
  }
  expect(brokenRules(new Map(Object.entries(files)))).toEqual([])
})
