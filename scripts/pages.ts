/**
 * The documentation as the server's package carries it: every page that a user of the packages
 * reads, in `server/docs`. A link that leads out of these pages becomes its text.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { SERVER_PACKAGE } from './packages.js'

const DOCS = 'docs'
/** Of the site alone, or for people who change this code. */
const LEFT_OUT = /^(\.vitepress|internals|api|index\.md$)/

export function copyPages(): void {
  const target = join(SERVER_PACKAGE.folder, DOCS)
  rmSync(target, { recursive: true, force: true })
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.md') && !LEFT_OUT.test(path))
  for (const page of pages) {
    const file = join(target, page)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, withinPages(readFileSync(join(DOCS, page), 'utf8'), page, pages))
  }
  copyFileSync(join(DOCS, 'llms.txt'), join(target, 'llms.txt'))
}

/** An index loses the line of a page that is not there. */
function withinPages(markdown: string, page: string, pages: readonly string[]): string {
  const isThere = (link: string) => {
    const [path] = link.split('#')
    return /^\w+:/.test(link) || path === '' || pages.includes(posix.join(dirname(page), path!))
  }
  return markdown
    .replace(/^\* \[[^\]]+\]\(([^)]+)\): .*\n(?: {2}.*\n)*/gm, (line, link) =>
      isThere(link) ? line : '',
    )
    .replace(/!?\[([^\]]+)\]\(([^)\s]+)\)/g, (all, text, link) => (isThere(link) ? all : text))
}
