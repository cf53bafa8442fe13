/**
 * 16 random bytes as a version 4 UUID. (`crypto.randomUUID` is missing on pages served over plain
 * http, H18.)
 */
export function uuid(random: Uint8Array): string {
  const bytes = Uint8Array.from(random)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/**
 * A version 7 UUID (RFC 9562): 48 bits of time in milliseconds, then 74 random bits. Ids of about
 * the same time lie side by side in a database's index, which makes them cheaper to store. Which
 * time it is does not matter: a wrong clock makes no id more likely.
 */
export function timedUuid(random: Uint8Array, date: number): string {
  const time = (Math.abs(date) + 2 ** 48).toString(16).slice(-12)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${uuid(random).slice(15)}`
}
