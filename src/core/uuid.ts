/**
 * A version 7 UUID (RFC 9562): 48 bits of time in milliseconds, then 74 random bits. Ids of about
 * the same time lie side by side in a database's index, which makes them cheaper to store. Which
 * time it is does not matter: a wrong clock makes no id more likely.
 *
 * (`crypto.randomUUID` is missing on pages served over plain http, H18.)
 * @param random 16 bytes
 */
export function uuid(random: Uint8Array, date: number): string {
  // A byte keeps the lowest 8 bits of the whole number that it gets, also of a negative one.
  const bytes = random.map((byte, i) => (i < 6 ? Math.trunc(date / 256 ** (5 - i)) : byte))
  bytes[6] = (bytes[6]! & 0x0f) | 0x70
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join('')
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
