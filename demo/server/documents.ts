/**
 * The documentation as pages that a browser shows, for the desk's link to them. A link that leads
 * out of the documentation becomes its text.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { Marked } from 'marked'

const STYLE = `
  :root { color-scheme: light dark }
  body {
    max-inline-size: 51rem; margin: 24px auto; padding-inline: 16px; overflow-wrap: break-word;
    font: 1rem/1.5 system-ui, sans-serif;
  }
  pre, table { overflow-x: auto; border: 1px solid light-dark(#d5dada, #3a4041) }
  p, li { max-inline-size: 46rem }
  pre { padding: 12px; border-radius: 8px; font-size: 0.8125rem }
  table { display: block; border-collapse: collapse }
  td, th { padding: 6px 10px; text-align: start; vertical-align: top }
  td:last-child { min-inline-size: 14rem }
  @media (width < 40rem) {
    td, th { padding: 4px; font-size: 0.8125rem }
    table:has(th:nth-child(3)):not(:has(th:nth-child(4))) {
      tr { display: grid; grid-template-columns: 1fr 1fr; border-block-start: 1px solid #8885 }
      td, th { overflow-wrap: anywhere }
      :last-child:is(td, th) { grid-column: 1 / -1 }
    }
  }
  a { color: light-dark(#0b6e69, #52bfb6) }
  img { max-inline-size: 100% }`

/** Of the site alone, or made by a program. */
const LEFT_OUT = /^(\.vitepress|api|index\.md$)/

/** @param target gets the pages, `index.html` with the list of all of them */
export function buildDocuments(source: string, target: string): void {
  for (const path of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    const page = path.replaceAll('\\', '/')
    if (!page.endsWith('.md') || LEFT_OUT.test(page)) continue
    const file = join(target, pageOf(page))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, htmlOf(readFileSync(join(source, page), 'utf8'), page))
  }
  cpSync(join(source, 'images'), join(target, 'images'), { recursive: true })
}

const pageOf = (path: string) => path.replace(/README\.md/, 'index.md').replace(/\.md\b/, '.html')

function htmlOf(markdown: string, page: string): string {
  const home = posix.relative(posix.dirname(page), 'index.html')
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = text
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(' ', '-')
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const isOut = posix.join(posix.dirname(page), href).startsWith('..')
        return isOut ? text : `<a href="${pageOf(href)}">${text}</a>`
      },
    },
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${/^# (.*)/m.exec(markdown)![1]}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<style>${STYLE}</style>
</head>
<body>
<p><a href="/">Order desk</a> · <a href="${home}">All pages</a></p>
${marked.parse(markdown)}
</body>
</html>
`
}
