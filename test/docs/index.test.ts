/**
 * docs/README.md leads to every page, and docs/llms.txt says the same to programs.
 * `npx vitest run -u test/docs/index.test.ts` writes the latter anew.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const DOCS = new URL('../../docs/', import.meta.url)
const INDEX = readFileSync(new URL('README.md', DOCS), 'utf8')
const { name, description } = JSON.parse(
  readFileSync(new URL('../package.json', DOCS), 'utf8'),
) as { name: string; description: string }

const LINK = /^\* \[(.+)\]\((.+)\): /gm

test('the index has each page once; the recipes have an index of their own', () => {
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(?!README|\.vitepress).*\.md$/.test(path))
    .filter((path) => path === 'recipes/README.md' || !path.startsWith('recipes/'))
  expect([...INDEX.matchAll(LINK)].map(([, , path]) => path!).sort()).toEqual(pages.sort())
})

test('llms.txt is the index', async () => {
  const lists = INDEX.slice(INDEX.indexOf('## '))
    .replace(/\n {2}/g, ' ')
    .replace(/^\* /gm, '- ')
  const text = `# ${name}\n\n> ${description}\n\n${lists}`
  await expect(text).toMatchFileSnapshot(fileURLToPath(new URL('llms.txt', DOCS)))
})
