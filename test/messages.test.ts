/** How long a message for a developer may be: nobody reads more than forty words of one. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Expression, parseSync, Visitor } from 'oxc-parser'
import { expect, test } from 'vitest'

/** An error adds two words: the address where its code is explained. */
const MOST_WORDS = 38
/** No messages: a style sheet, and the tables of a database. */
const OTHERS = ['src/addons/inspector/styles.ts', 'src/addons/sqlite/series-in-sqlite.ts']

/** Of a text that is put together: each value in it counts as a word. */
function textOf(part: Expression): string {
  if (part.type === 'Literal') return typeof part.value === 'string' ? part.value : '…'
  if (part.type === 'TemplateLiteral') return part.quasis.map(({ value }) => value.cooked).join('…')
  if (part.type === 'BinaryExpression' && part.left.type !== 'PrivateIdentifier')
    return textOf(part.left) + textOf(part.right)
  return '…'
}

function longestIn(file: string): number {
  let most = 0
  const measure = (part: Expression) => {
    most = Math.max(most, textOf(part).split(/\s+/).length)
  }
  const { program } = parseSync(file, readFileSync(file, 'utf8'))
  new Visitor({
    BinaryExpression: measure,
    TemplateLiteral: measure,
    Literal: (literal) => measure(literal as Expression),
  }).visit(program)
  return most
}

test('no message has more than forty words', () => {
  const files = execFileSync('git', ['ls-files', 'src/*.ts'], { encoding: 'utf8' })
  const long = files
    .split('\n')
    .filter(Boolean)
    .filter((file) => longestIn(file) > MOST_WORDS)
  expect(long.sort()).toEqual([...OTHERS].sort())
})
