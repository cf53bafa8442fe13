/**
 * The documentation as a site, by VitePress: `npm run site`. Its first page is docs/index.md, the
 * sidebar docs/README.md. A link into the sources becomes its text, because the site has none.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const DOCS = fileURLToPath(new URL('..', import.meta.url))
const ROOT = join(DOCS, '..')
const INDEX = readFileSync(join(DOCS, 'README.md'), 'utf8')
const { description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** Pages of the demo that need no server. */
const LIVE = [
  { text: 'Try to make a duplicate', link: '/demo/play/', target: '_self' },
  { text: 'The inspector, live', link: '/demo/inspector/', target: '_self' },
]

const sidebar = INDEX.split(/^## /m)
  .slice(1)
  .map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    items: [...section.matchAll(/^\* \[(.+)\]\((.+)\.md\): /gm)].map(([, text, path]) => ({
      text: text!.replaceAll('`', ''),
      link: `/${path!.replace(/README$/, '')}`,
    })),
  }))

/**
 * On a phone, more of a table is seen at once: one of two or three columns fits, and a meaning has
 * a line of its own.
 */
const STYLE = `@media (max-width: 640px) {
  .vp-doc :is(td, th) { padding: 6px 8px; vertical-align: top }
  .vp-doc table:not(:has(th:nth-child(4))) :is(td, th) {
    min-width: 84px; max-width: 100vw; overflow-wrap: anywhere
  }
  .vp-doc table.meanings tr { display: grid; grid-template-columns: 1fr 1fr }
  .vp-doc table.meanings :is(td, th) { border: 0; text-align: start; overflow-wrap: anywhere }
  .vp-doc table.meanings :last-child:is(td, th) { grid-column: 1 / -1 }
}
.vp-doc iframe {
  width: 100%; height: 860px; border: 1px solid var(--vp-c-divider); border-radius: 8px;
}`

export default {
  title: 'offline-hilo',
  description,
  cacheDir: join(ROOT, 'node_modules/.cache/vitepress'),
  rewrites: { 'README.md': 'pages.md', 'recipes/README.md': 'recipes/index.md' },
  head: [
    ['style', {}, STYLE],
    ['link', { rel: 'icon', href: 'data:,' }],
  ],
  markdown: {
    config(md: MarkdownIt) {
      md.core.ruler.push('links of the site', followLinks)
      md.core.ruler.push('tables that end with a meaning', nameTables)
    },
    anchor: { slugify: anchorOf },
  },
  themeConfig: {
    sidebar,
    nav: LIVE,
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument } } } },
    outline: [2, 3],
  },
  buildEnd,
}

/** As GitHub makes them of headings, for which the links are written. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

interface Token {
  type: string
  tag: string
  content: string
  attrs: [string, string][] | null
  children: Token[] | null
}

interface State {
  tokens: Token[]
  env: { relativePath: string }
}

interface MarkdownIt {
  core: { ruler: { push(name: string, rule: (state: State) => void): void } }
}

function followLinks({ tokens, env }: State): void {
  const folder = posix.dirname(env.relativePath)
  for (const { children } of tokens) {
    let isOut = false
    for (const token of children ?? []) {
      if (token.type === 'link_open') {
        const [, href] = token.attrs!.find(([name]) => name === 'href')!
        isOut = !/^(\w+:|#)/.test(href) && posix.join(folder, href).startsWith('..')
        token.attrs = isOut
          ? null
          : token.attrs!.map(([name, value]) => [name, pathOnSite(folder, value)])
      }
      if (isOut && /^link_/.test(token.type)) token.tag = 'span'
    }
  }
}

/** The index of all pages is none of the site's `index` files: its first page is. */
function pathOnSite(folder: string, link: string): string {
  const isIndex = posix.join(folder, link.replace(/#.*/, '')) === 'README.md'
  return link.replace('README.md', isIndex ? 'pages.md' : 'index.md')
}

function nameTables({ tokens }: State): void {
  let table: Token
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'table_open') table = token
    // Before the end of the head: the text of the last cell, the ends of the cell and of the row.
    if (token.type === 'thead_close' && tokens[at - 3]!.content === 'meaning')
      table!.attrs = [['class', 'meanings']]
  }
}

/** Who looks for a name wants what it means before the pages that use it. */
function boostDocument(id: string): number {
  return id.startsWith('/reference') ? 2 : 1
}

/** The pages of the demo; for programs the Markdown, its index, and all of it in one file. */
async function buildEnd({ outDir, pages }: { outDir: string; pages: string[] }): Promise<void> {
  await build({
    configFile: false,
    root: ROOT,
    publicDir: 'demo/public',
    logLevel: 'warn',
    plugins: [
      {
        name: 'the way back',
        transformIndexHtml: (html: string) => html.replace('>Order desk<', '>Documentation<'),
      },
    ],
    build: {
      outDir,
      emptyOutDir: false,
      rolldownOptions: { input: LIVE.map(({ link }) => join(ROOT, link, 'index.html')) },
    },
  })
  for (const path of [...pages, 'openapi.json']) cpSync(join(DOCS, path), join(outDir, path))
  const index = INDEX.slice(INDEX.indexOf('## ')).replace(/^\* /gm, '- ')
  const calls = readFileSync(join(DOCS, 'llms.txt'), 'utf8')
  writeFileSync(join(outDir, 'llms.txt'), `${calls}\n${index}`)
  const listed = [...INDEX.matchAll(/^\* \[.+\]\((.+)\): /gm)].map(([, path]) => path!)
  const whole = [...new Set([...listed, ...pages])]
    .filter((path) => !/^(README|index)\.md$/.test(path))
    .map((path) => `<!-- ${path} -->\n\n${readFileSync(join(DOCS, path), 'utf8')}`)
  writeFileSync(join(outDir, 'llms-full.txt'), `${calls}\n${whole.join('\n')}`)
}
