/**
 * The code blocks of a Markdown page, and the module that its TypeScript makes. How a block is
 * checked stands in its first line:
 *
 * - ```` ```ts ```` (or `tsx`, `js`): part of the page's module. All of them together are
 *   compiled, and run from top to bottom.
 * - ```` ```ts own ````: a module of its own, because it says again what another block says.
 * - ```` ```ts compile ````: a module of its own that is compiled and not run, because it needs
 *   what a test has not.
 * - ```` ```any file=path ````: an excerpt of that file, which is tested elsewhere.
 *
 * What a block needs and no reader wants to see stands before it in a comment, `<!-- setup … -->`.
 *
 * A page that begins with `<!-- values -->` says what its code gives: a value in a comment at the
 * end of a line is compared with that of the line's expression.
 */

export interface Block {
  /** The first one of its text. */
  line: number
  language: string
  kind: 'page' | 'own' | 'compile' | 'excerpt' | 'setup'
  /** Of an excerpt. */
  file?: string
  text: string
}

const FENCE = /^( *)```(\w*) *(.*)$/
export const MODULE_LANGUAGES = ['ts', 'tsx', 'js']

/** @throws Error when a block does not end, or its first line cannot be understood */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  const lines = markdown.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const isSetup = lines[i] === '<!-- setup'
    const [, indent = '', language = '', note = ''] = FENCE.exec(lines[i]!) ?? []
    if (!isSetup && !FENCE.test(lines[i]!)) continue
    const end = lines.indexOf(isSetup ? '-->' : `${indent}\`\`\``, i + 1)
    if (end < 0) throw new Error(`Line ${i + 1} begins a block that does not end.`)
    const text = lines
      .slice(i + 1, end)
      .map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each))
    blocks.push({
      line: i + 2,
      language,
      text: text.join('\n'),
      ...(isSetup ? { kind: 'setup' } : kindOf(note, i + 1)),
    })
    i = end
  }
  return blocks
}

function kindOf(note: string, line: number): Pick<Block, 'kind' | 'file'> {
  if (note.startsWith('file=')) return { kind: 'excerpt', file: note.slice('file='.length) }
  if (note === '') return { kind: 'page' }
  if (note === 'own' || note === 'compile') return { kind: note }
  throw new Error(
    `Line ${line}: "${note}" says not how the block is checked: own, compile, file=…, or nothing.`,
  )
}

export interface PageModule {
  /** `guide`, or `guide.97` for a block of its own. */
  name: string
  isRun: boolean
  /** Every line where it is in the page, so that a complaint names the page's line. */
  text: string
}

export function modulesOf(page: string, markdown: string): PageModule[] {
  const inPlace = markdown.startsWith('<!-- values -->') ? withValues : inLines
  const blocks = blocksOf(markdown).filter(
    ({ kind, language }) =>
      kind === 'setup' || (kind !== 'excerpt' && MODULE_LANGUAGES.includes(language)),
  )
  const modules: PageModule[] = []
  let setup: Block[] = []
  const shared: Block[] = []
  for (const block of blocks) {
    if (block.kind === 'setup') setup.push(block)
    else {
      const parts = [...setup, block]
      setup = []
      if (block.kind === 'page') shared.push(...parts)
      else
        modules.push({
          name: `${page}.${block.line}`,
          isRun: block.kind === 'own',
          text: inPlace(parts),
        })
    }
  }
  if (shared.length > 0) modules.push({ name: page, isRun: true, text: inPlace(shared) })
  return modules
}

const VALUE = /^(?:const (\w+) = )?(.+?) +\/\/ ('[^']*'|true|false|\d+)(?:[:,].*)?$/gm

/** Each value in a comment is compared, in its line. */
const withValues = (blocks: Block[]): string =>
  inLines(blocks).replace(VALUE, (line, name: string | undefined, expression: string, value) => {
    const [before, given] = name ? [`const ${name} = ${expression};`, name] : ['', expression]
    const wrong = `throw new Error(${JSON.stringify(`This is not so: ${line}`)})`
    return `${before} if ((${given}) !== ${value}) ${wrong};`
  })

function inLines(blocks: Block[]): string {
  const lines: string[] = []
  for (const { line, text } of blocks) {
    while (lines.length < line - 1) lines.push('')
    lines.push(...text.split('\n'))
  }
  return `${lines.join('\n')}\nexport {}\n`
}
