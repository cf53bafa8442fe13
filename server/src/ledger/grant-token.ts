/**
 * Lease tokens: opaque texts that only the device a range was granted to can know. Guarantees that
 * nothing stored must be kept secret but one key, and that a forged token costs no query.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

interface TokenContent {
  /** Which grant. */
  id: string
  /** Each check-in raises it; an older token is void from then on (H12). */
  rotation: number
}

export interface LeaseTokens {
  write(content: TokenContent): string
  /** Undefined when this ledger never wrote it. */
  read(token: string): TokenContent | undefined
}

/** 128 bits: as unguessable as the key allows. */
const MAC_BYTES = 16

export const newSecret = (): string => randomBytes(32).toString('base64url')
export const newGrantId = (): string => randomBytes(12).toString('base64url')

export function leaseTokens(secret: string): LeaseTokens {
  const macOf = (body: string) =>
    createHmac('sha256', secret).update(body).digest().subarray(0, MAC_BYTES)
  return {
    write({ id, rotation }) {
      const body = `${id}.${rotation}`
      return `${body}.${macOf(body).toString('base64url')}`
    },
    read(token) {
      const [, body, id, rotation, mac] =
        /^(([\w-]{16})\.(\d{1,9}))\.([\w-]{22})$/.exec(token) ?? []
      if (!body || !timingSafeEqual(macOf(body), Buffer.from(mac!, 'base64url'))) return undefined
      return { id: id!, rotation: Number(rotation) }
    },
  }
}
