/**
 * Tokens in a file, one per line, so that they can change while the server runs. A file that cannot
 * be used any more leaves the last tokens in force.
 */
import { readFileSync, statSync } from 'node:fs'
import { createLog, type Log } from './log.js'
import { token } from './options.js'

/** @throws Error when the file cannot be used at the start */
export function tokensFromFile(file: string, log: Log = createLog()): () => readonly string[] {
  // Before it is read: what changes meanwhile is read again.
  let seen = stateOf(file)
  let tokens = read(file)
  let told: string | undefined
  return () => {
    const now = stateOf(file)
    if (now === seen) return tokens
    try {
      tokens = read(file)
      seen = now
      told = undefined
    } catch (error) {
      // Perhaps it is being written just now: the next request looks again.
      if (now !== told)
        log.error({ err: error }, 'The tokens cannot be read: the last ones stay in force.')
      told = now
    }
    return tokens
  }
}

function read(file: string): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(
      `tokensFile: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
  const lines = text.split('\n').map((line) => line.trim())
  const tokens = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (tokens.length === 0) throw new Error(`tokensFile: ${file} has no token; nobody could ask.`)
  for (const one of tokens) {
    const { error } = token.safeParse(one)
    if (error)
      throw new Error(
        `tokensFile: line ${lines.indexOf(one) + 1} of ${file}: ${error.issues[0]!.message}.`,
      )
  }
  return tokens
}

/** Changes with the file. */
function stateOf(file: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    return `${mtimeMs} ${size} ${ino}`
  } catch {
    return 'gone'
  }
}
