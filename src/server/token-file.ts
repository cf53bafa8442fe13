/** Tokens in a file, one per line, so that they can change while the server runs. A file that cannot be used any more leaves the last tokens in force. */
import { readFileSync, statSync } from 'node:fs'
import { token } from './options.js'

/** @throws Error when the file cannot be used at the start */
export function tokensFromFile(file: string): () => readonly string[] {
  let tokens = read(file)
  let seen = changed(file)
  return () => {
    const now = changed(file)
    if (now === undefined || now === seen) return tokens
    try {
      tokens = read(file)
      seen = now
    } catch {
      // Being written just now: the next request looks again.
    }
    return tokens
  }
}

function read(file: string): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`tokensFile: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
  const lines = text.split('\n').map((line) => line.trim())
  const tokens = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (tokens.length === 0) throw new Error(`tokensFile: ${file} has no token; nobody could ask.`)
  for (const one of tokens) {
    const { error } = token.safeParse(one)
    if (error) throw new Error(`tokensFile: line ${lines.indexOf(one) + 1} of ${file}: ${error.issues[0]!.message}.`)
  }
  return tokens
}

/** Undefined: not there just now. */
const changed = (file: string): string | undefined => {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat && `${stat.mtimeMs} ${stat.size} ${stat.ino}`
}
