/**
 * Reads the configuration file. Guarantees that a name which comes twice in an object is refused:
 * JSON keeps the last one only, so a lost binding would let the server make ids that are in use.
 */
import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'

/** @throws Error that names the file and the fix */
export function readConfigFile(file: string): object {
  const text = textOf(file)
  // Some editors of Windows begin a file with a byte order mark.
  const json = text.replace(/^\uFEFF/, '')
  let settings: object
  try {
    settings = JSON.parse(json)
    // A copy would not have a setting `__proto__`, which is to be refused.
    z.looseObject({}).parse(settings)
  } catch (error) {
    throw new Error(
      `config: ${file} is not a JSON object, like {"port": 8080, "nodeTag": "A"}.` +
        whereIn(json, (error as Error).message),
    )
  }
  const name = repeatedName(json)
  if (name !== undefined)
    throw new Error(
      `${name} in ${file}: is there twice, and only the last one would count. Put what both say ` +
        'into one.',
    )
  return settings
}

function textOf(file: string): string {
  try {
    const found = statSync(file)
    // A device may have no end. A pipe has one: <(…) in a shell is one.
    if (!found.isFile() && !found.isFIFO()) throw new Error('it is no file')
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(
      `config: ${file} cannot be read (${code ?? message}). Correct the path given by --config ` +
        'or HILO_CONFIG.',
    )
  }
}

/**
 * Empty: the engine does not say where.
 * @param why the engine's words, which repeat some of the text: that may be a secret
 */
function whereIn(json: string, why: string): string {
  const [, position] = /position (\d+)/.exec(why) ?? []
  const end = json.trimEnd().length
  const at = Number(/end of JSON input/.test(why) ? end : position)
  if (Number.isNaN(at)) return ''
  const line = json.slice(0, Math.min(at, end)).split('\n').length
  return at < end ? ` See line ${line}.` : ` It ends too early, in line ${line}.`
}

/**
 * A name with a colon, a text, or where an object begins or ends. A choice for each character of a
 * text would fill the engine's stack.
 */
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]/g

/** The path of a name that one object has twice. */
function repeatedName(json: string): string | undefined {
  const objects: { names: Set<string>; last: string }[] = []
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    if (token === '{') objects.push({ names: new Set(), last: '' })
    if (token === '}') objects.pop()
    if (colon === undefined) continue
    const object = objects.at(-1)!
    object.last = JSON.parse(text!)
    if (object.names.has(object.last)) return objects.map(({ last }) => last).join('.')
    object.names.add(object.last)
  }
  return undefined
}
