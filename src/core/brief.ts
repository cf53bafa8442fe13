/** Shortens a value of the app, or a text of somebody else, so that a message can show it. */

const LONGEST_VALUE = 40

/** JavaScript makes no text of an object without a prototype, or of a proxy that was revoked. */
export function readable(text: () => string): string {
  try {
    return text()
  } catch {
    return 'unreadable'
  }
}

/** The text in one line of at most so many words. */
export function brief(text: string, words: number): string {
  const line = text.trim().replace(/\s+/g, ' ')
  const kept = line.split(' ', words).join(' ')
  return kept === line ? line : `${kept}…`
}

/** What was thrown need not be an error. */
export const messageOf = (error: unknown): string =>
  readable(() => String((error as Error | undefined)?.message ?? error))

/** An error of the app's own function, or of the browser. */
export const reasonOf = (error: unknown): string => brief(messageOf(error), 12).replace(/\.$/, '')

/** A value that a caller passed, or that the app's function made. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(
      value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value,
    )
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  return typeof value === 'object' && value
    ? readable(() => Object.prototype.toString.call(value))
    : String(value)
}
