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
