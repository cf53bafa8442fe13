/**
 * SHA-256 of a text that comes in parts. Guarantees that it is that of the whole, which may be
 * longer than a text of JavaScript can be.
 */
import { BLOCK, bytesOf, endOf, hexOf, mix, newHash } from './sha256.js'

export function newSum() {
  const hash = newHash()
  let rest = ''
  let length = 0
  const add = (bytes: string) => {
    rest += bytes
    const whole = rest.length - (rest.length % BLOCK)
    mix(hash, rest.slice(0, whole))
    rest = rest.slice(whole)
    length += bytes.length
  }
  return {
    add: (text: string) => add(bytesOf(text)),
    /** Once. */
    hex() {
      add(endOf(length))
      return hexOf(hash)
    },
  }
}
