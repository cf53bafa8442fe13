/**
 * Check digits of keys that are made when a document is complete: a second field beside the id, for
 * example in the `content` of a chain.
 */

/** Brazil, the access key of 44 digits: weights 2 to 9 from the right. */
export const brazil = (digits: string): number => {
  const rest = weighted(digits, 9) % 11
  return rest < 2 ? 0 : 11 - rest
}

/** Ecuador, the access key of 49 digits: weights 2 to 7 from the right. */
export const ecuador = (digits: string): number => {
  const result = 11 - (weighted(digits, 7) % 11)
  return result === 11 ? 0 : result === 10 ? 1 : result
}

/** CRC-8, polynomial 0x07: TicketBAI writes it as three digits, KSeF as two of upper hex. */
export const crc8 = (text: string): number =>
  new TextEncoder().encode(text).reduce((crc, byte) => {
    let next = crc ^ byte
    for (let bit = 0; bit < 8; bit++) next = ((next << 1) ^ (next & 0x80 ? 0x07 : 0)) & 0xff
    return next
  }, 0)

const weighted = (digits: string, highest: number): number =>
  [...digits].reduceRight(
    (sum, digit, i, { length }) => sum + Number(digit) * (2 + ((length - 1 - i) % (highest - 1))),
    0,
  )
