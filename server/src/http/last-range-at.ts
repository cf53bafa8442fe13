/** Reads `lastRangeAt`: a time as .NET writes it, which this server and RavenDB send themselves. */

const FORM = /^(?!0000)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d{4}(?:Z|([+-])(\d\d?):?(\d\d))?$/
const MAX_OFFSET_MINUTES = 14 * 60

/**
 * Milliseconds since the epoch. Undefined for what RavenDB cannot read either; it then goes by the
 * size alone.
 */
export function readLastRangeAt(text: string): number | undefined {
  const [, local, sign, hours, minutes] = FORM.exec(text) ?? []
  const time = Date.parse(`${local}Z`)
  // The 30th of February does not exist, but JavaScript makes the 2nd of March of it.
  if (Number.isNaN(time) || new Date(time).toISOString() !== `${local}Z`) return undefined
  const offset = sign === undefined ? 0 : Number(hours) * 60 + Number(minutes)
  if (offset > MAX_OFFSET_MINUTES) return undefined
  return time - (sign === '-' ? -offset : offset) * 60_000
}
