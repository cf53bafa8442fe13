/**
 * Figures in a document: the bench writes each block between two marks, with its goals and a stamp
 * of what it measured. So the goals and the tables of a block are of one run, nobody types a figure
 * by hand, and `npm run check` can say which block is older than the code that it is about.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DOCUMENT = fileURLToPath(new URL('../docs/internals/performance.md', import.meta.url))

/** `<!-- bench:tabs -->`, what the bench printed and its stamp, `<!-- /bench -->` */
const MARKED = /(<!-- bench:(\S+) -->\n)([\s\S]*?)(<!-- \/bench -->)/g
/** `Commit 94a2ec0 (src 1f09b2c3a4). Linux, 2 cores` */
const STAMP = /^Commit (\w+) \((.+)\)\. .+$/gm

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()

/** Git's hash of all that a folder holds: another one after any change of it. */
const hashOf = (folder: string) => git('rev-parse', '--short=10', `HEAD:${folder}`)

/** @param folders whose code a bench measures */
export const stamp = (folders: readonly string[], machine: string): string =>
  `Commit ${git('rev-parse', '--short', 'HEAD')} ` +
  `(${folders.map((folder) => `${folder} ${hashOf(folder)}`).join(', ')}). ${machine}`

/** @throws Error while code that is measured differs from the commit that a stamp would name */
export function requireCommitted(folders: readonly string[]): void {
  const changed = git('status', '--porcelain', '--', ...folders)
  if (changed)
    throw new Error(
      'A figure is written with the commit that it is of, and this is not ' +
        `committed:\n${changed}\n` +
        'Commit it first, or leave out --write.',
    )
}

/** Puts what a bench printed between its marks. */
export function writeFigures(bench: string, text: string): void {
  const written = readFileSync(DOCUMENT, 'utf8').replace(
    MARKED,
    (whole, begin: string, name: string, _, end: string) =>
      name === bench ? `${begin}${text}\n${end}` : whole,
  )
  writeFileSync(DOCUMENT, written)
}

export interface Figures {
  /** Of the bench that wrote them. */
  name: string
  text: string
  /** One, unless somebody has put figures of two runs together. */
  stamps: number
  /** Folders that have changed since, with the commit that was measured. */
  older: string[]
}

/** The blocks of the document, in its order. */
export const readFigures = (): Figures[] =>
  [...readFileSync(DOCUMENT, 'utf8').matchAll(MARKED)].map(([, , name, text]) => {
    const stamps = [...text!.matchAll(STAMP)]
    const older = stamps.flatMap(([, commit, measured]) =>
      measured!
        .split(', ')
        .map((each) => each.split(' ') as [string, string])
        .filter(([folder, hash]) => hashOf(folder) !== hash)
        .map(([folder]) => `${folder} has changed since ${commit}`),
    )
    return { name: name!, text: text!, stamps: stamps.length, older }
  })
