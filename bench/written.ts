/**
 * Figures in a document: the bench writes each between two marks, so that nobody types one by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs'

/** `<!-- bench:tabs -->`, what the bench printed, `<!-- /bench -->` */
const MARKED = /(<!-- bench:(\S+) -->\n)[\s\S]*?(<!-- \/bench -->)/g

/** Puts each text between its marks. Marks that no text belongs to keep what they have. */
export function writeFigures(file: string, texts: ReadonlyMap<string, string>): void {
  const old = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    old.replace(MARKED, (whole, begin: string, name: string, end: string) =>
      texts.has(name) ? `${begin}${texts.get(name)}\n${end}` : whole,
    ),
  )
}
