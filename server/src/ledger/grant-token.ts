/**
 * Grant tokens: opaque texts that only the device a range was granted to can know. On the wire a
 * token is called a lease. Guarantees that nothing stored must be kept secret but one key, and that
 * a forged token costs no query.
 */
import {
  createHmac,
  createSecretKey,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto'

export interface TokenContent {
  /** Which grant. */
  id: string
  /** Each check-in raises it; an older token is void from then on (H12). */
  rotation: number
}

export interface GrantTokens {
  write(content: TokenContent): string
  /** Undefined when this ledger never wrote it. */
  read(token: string): TokenContent | undefined
}

/** 128 bits: as unguessable as the key allows. */
const MAC_BYTES = 16
const ID_BYTES = 12
/** Random bytes are drawn for so many ids at once: the draw costs more than the bytes. */
const POOLED_IDS = 256

const pool = Buffer.alloc(ID_BYTES * POOLED_IDS)
let next = pool.length

export const newSecret = (): string => randomBytes(32).toString('base64url')

export function newGrantId(): string {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  next += ID_BYTES
  return pool.toString('base64url', next - ID_BYTES, next)
}

export function grantTokens(secret: string): GrantTokens {
  const key = createSecretKey(Buffer.from(secret))
  const macOf = (body: string) =>
    createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES)
  return {
    write({ id, rotation }) {
      const body = `${id}.${rotation}`
      return `${body}.${macOf(body).toString('base64url')}`
    },
    read(token) {
      const [, body, id, rotation, mac] =
        /^(([\w-]{16})\.(\d{1,9}))\.([\w-]{22})$/.exec(token) ?? []
      // guard: H22 a grant token cannot be forged
      if (!body || !timingSafeEqual(macOf(body), Buffer.from(mac!, 'base64url'))) return undefined
      return { id: id!, rotation: Number(rotation) }
    },
  }
}
