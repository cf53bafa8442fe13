/**
 * Finds the code that a comment like `// guard: H8 an offer is sent once` marks: the statement,
 * property or expression that begins right after it, to its end.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

export interface Marked {
  name: string
  /** Where the code begins and ends in the source. */
  start: number
  end: number
}

export interface GuardedCode extends Marked {
  /** Its path from the repository's folder. */
  file: string
  source: string
}

const SOURCES = ['src', 'server/src']
const MARKER = /^\s*guard: (.*\S)\s*$/

/** Everything that is marked in the sources of both packages. */
export function guardedCode(repository: string): GuardedCode[] {
  return SOURCES.flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => {
        const file = `${folder}/${path}`
        const source = readFileSync(join(repository, file), 'utf8')
        return markedIn(file, source).map((marked) => ({ ...marked, file, source }))
      }),
  )
}

/** @throws Error when the source does not parse, or nothing comes after a marker */
export function markedIn(file: string, source: string): Marked[] {
  const { program, comments, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  return comments.flatMap((comment) => {
    const name = MARKER.exec(comment.value)?.[1]
    if (name === undefined) return []
    const start = nextCode(source, comments, comment.end)
    const end = endOfNode(program, start)
    if (end === undefined)
      throw new Error(`${file}: after the comment 'guard: ${name}' there is no code`)
    return { name, start, end }
  })
}

/** The source with other code in place of the marked code. */
export const replaceMarked = (
  source: string,
  { start, end }: Marked,
  other: (code: string) => string,
): string => source.slice(0, start) + other(source.slice(start, end)) + source.slice(end)

interface Comment {
  start: number
  end: number
}

/** The next position at which there is neither space nor a comment. */
function nextCode(source: string, comments: readonly Comment[], from: number): number {
  const at = from + source.slice(from).search(/\S|$/)
  const comment = comments.find(({ start }) => start === at)
  return comment ? nextCode(source, comments, comment.end) : at
}

/** The end of the largest node that begins there, apart from the whole program. */
function endOfNode(node: unknown, start: number): number | undefined {
  if (typeof node !== 'object' || node === null) return undefined
  if (isNode(node) && node.type !== 'Program' && node.start === start) return node.end
  for (const child of Object.values(node)) {
    const end = endOfNode(child, start)
    if (end !== undefined) return end
  }
  return undefined
}

const isNode = (value: object): value is { type: string; start: number; end: number } =>
  'type' in value && 'start' in value && 'end' in value
