/**
 * The rules of which part of the two packages may use which (docs/internals/architecture.md),
 * checked on the sources; and that the check finds what breaks them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
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
    .map((arrow) => arrow.replaceAll('addons/', ''))
    .sort()
  const ofServer = arrows.filter((arrow) => arrow.startsWith('server'))
  expect(drawnUnder('The browser package')).toEqual(
    arrows.filter((arrow) => !arrow.startsWith('server')),
  )
  expect(drawnUnder('The server package')).toEqual(
    ofServer.map((arrow) => arrow.replaceAll('server/', '').replaceAll('server', 'top')).sort(),
  )
})

test('the places in docs/internals/architecture.md are those of the sources', () => {
  const listed = [...PAGE.matchAll(/^((?:server\/)?src\/(?:addons\/)?[\w.-]+)\/?[\w/]* /gm)].map(
    ([, it]) => it,
  )
  const there = [...sources.keys()].map(
    (path) => /^(server\/)?src\/(addons\/)?[^/]+/.exec(path)![0],
  )
  expect([...new Set(listed)].sort()).toEqual([...new Set(there)].sort())
})

test('each file that docs/internals/architecture.md names is there', () => {
  const named = [...PAGE.matchAll(/`([\w./-]+\/[\w.-]+\.ts)`/g)].map(([, path]) => path!)
  expect(named.length).toBeGreaterThan(30)
  const isThere = (path: string) =>
    ['', 'src', 'server/src'].some((folder) => existsSync(join(ROOT, folder, path)))
  expect(named.filter((path) => !isThere(path))).toEqual([])
})

test.each<[string, Record<string, string>, complaint: string]>([
  [
    'a cycle through a re-export',
    { 'src/core/a.ts': "import { b } from './b.js'", 'src/core/b.ts': "export * from './a.js'" },
    'src/core/b.ts:1 closes a cycle: src/core/a.ts → src/core/b.ts → src/core/a.ts',
  ],
  [
    'another part, on demand',
    { 'src/store/b.ts': '', 'src/client/a.ts': "import('../store/b.js')" },
    'src/client/a.ts:1: client may not use store',
  ],
  [
    'a type of another part in the core',
    { 'src/store/b.ts': '', 'src/core/a.ts': "import type { B } from '../store/b.js'" },
    'src/core/a.ts:1: core may not use store',
  ],
  [
    'what only Node has in the browser',
    { 'src/store/a.ts': "import 'node:fs'" },
    'src/store/a.ts:1: store may not use node:fs',
  ],
  [
    'idb in a second file',
    { 'src/store/a.ts': "import 'idb'", 'src/store/b.ts': "import type { I } from 'idb'" },
    'src/store/b.ts:1 imports idb, as src/store/a.ts does: one file owns the database',
  ],
  [
    'a second fallback',
    {
      'src/worker/here.ts': '',
      'src/client/a.ts': "import('../worker/here.js')",
      'src/client/b.ts': "import('../worker/here.js')",
    },
    'src/client/b.ts:1 loads ../worker/here.js on demand, as src/client/a.ts does: ' +
      'there is one fallback',
  ],
])('complains of %s', (_, files, complaint) => {
  expect(brokenRules(new Map(Object.entries(files)))).toEqual([complaint])
})
