/**
 * docs/README.md leads to every page, and docs/llms.txt has every call, for programs.
 * `npx vitest run -u test/docs/index.test.ts` writes its signatures anew.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { blocksOf } from './blocks.js'
import { membersOf } from './declared.js'

const DOCS = new URL('../../docs/', import.meta.url)
const INDEX = readFileSync(new URL('README.md', DOCS), 'utf8')
const LINK = /^\* \[(.+)\]\((.+)\): /gm

test('the index has each page once; the recipes have an index of their own', () => {
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(?!README|index\.md|\.vitepress).*\.md$/.test(path))
    .filter((path) => path === 'recipes/README.md' || !path.startsWith('recipes/'))
  expect([...INDEX.matchAll(LINK)].map(([, , path]) => path!).sort()).toEqual(pages.sort())
})

const FILE = new URL('llms.txt', DOCS)
const CALLS = readFileSync(FILE, 'utf8')
const callsOf = (file: string, type: string) => membersOf(new URL(`../${file}`, DOCS), type)

test('llms.txt has the signature of each call', async () => {
  const written = CALLS.replace(
    /^<!-- signatures: (.+) -->\n(?:\n```ts\n[^`]*```\n)?/m,
    (_, types: string) => {
      const lines = types.split(', ').flatMap((each) => {
        const [file, type] = each.split(' ') as [string, string]
        const signatures = callsOf(file, type).flatMap(({ signature }) => signature ?? [])
        return [`interface ${type} {`, ...signatures.map((line) => `  ${line}`), '}']
      })
      const text = lines.join('\n').replaceAll('CollectionRef<Name>', 'CollectionRef')
      return `<!-- signatures: ${types} -->\n\n\`\`\`ts\n${text}\n\`\`\`\n`
    },
  )
  await expect(written).toMatchFileSnapshot(fileURLToPath(FILE))
})

test('llms.txt has an example of each call', () => {
  const code = blocksOf(CALLS)
    .map(({ text }) => text)
    .filter((text) => !text.startsWith('interface '))
    .join('\n')
  const missing = [
    ['hilo', callsOf('src/client/hilo.ts', 'Hilo')] as const,
    ['batch', callsOf('src/client/batch.ts', 'Batch')] as const,
  ].flatMap(([object, members]) =>
    members
      .map(({ name }) => name.replace(/\(.*/, ''))
      .filter((name) => !new RegExp(`\\b${object}\\.${name}\\b`).test(code)),
  )
  expect([...new Set(missing)]).toEqual([])
})
