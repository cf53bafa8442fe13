/**
 * Grant tokens: opaque texts that only the device with the grant can know. Guarantees that one
 * key is the only secret to keep, and that a forged token costs no query.
 */
import { Buffer } from 'node:buffer'
import {
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto'

/** What a token says about its grant. To read a token, one has to name the grant's database. */
export interface TokenContent {
  /** Which grant. */
  id: string
  /** Each check-in raises it; an older token is void from then on (H12). */
  rotation: number
  /** The place of the grant among those of its collection: 1, 2, 3 … */
  serial: number
  /** The highest number that the grant held when the token was written. */
  high: number
  collection: string
}

export interface GrantTokens {
  write(content: TokenContent & { database: string }): string
  /** Undefined when this ledger never wrote it for this database. */
  read(token: string, database: string): TokenContent | undefined
}

/** 128 bits: as unguessable as the key allows. */
const MAC_BYTES = 16
const ID_BYTES = 12
/** Random bytes are drawn for this many ids at once: the draw costs more than the bytes. */
const POOLED_IDS = 256

/** A name of 501 bytes can have 752 in lower case, with a `|`: `İ` becomes two characters. */
const TOKEN = /^(([\w-]{16})\.(\d{1,9})\.(\d{1,16})\.(\d{1,16})\.([\w-]{1,1003}))\.([\w-]{22})$/
/** A name of a database has no line break. */
const signed = (body: string, database: string): string => `${database}\n${body}`

const pool = Buffer.alloc(ID_BYTES * POOLED_IDS)
let next = pool.length

export const newSecret = (): string => randomBytes(32).toString('base64url')

/**
 * Begins with the time, so that the grants of one commit are neighbours in the database's index:
 * random places would be a page to write for each. 64 random bits follow.
 */
export function newGrantId(now = Date.now()): string {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  // A clock may be set to before 1970, too.
  pool.writeUInt32BE(Math.floor(now / 1000) >>> 0, next)
  next += ID_BYTES
  return pool.toString('base64url', next - ID_BYTES, next)
}

/** @param secrets the first signs; tokens of all are read */
export function grantTokens(secrets: readonly string[]): GrantTokens {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)))
  // As text: a digest as bytes gets memory of its own, outside of the heap.
  const digestOf = (body: string, key: KeyObject) =>
    createHmac('sha256', key).update(body).digest('base64url')
  const macOf = (body: string, key: KeyObject) =>
    Buffer.from(digestOf(body, key), 'base64url').subarray(0, MAC_BYTES)
  return {
    write({ id, rotation, serial, high, database, collection }) {
      const name = Buffer.from(collection).toString('base64url')
      const body = `${id}.${rotation}.${serial}.${high}.${name}`
      return `${body}.${macOf(signed(body, database), keys[0]!).toString('base64url')}`
    },
    read(token, database) {
      const [, body, id, rotation, serial, high, name, mac] = TOKEN.exec(token) ?? []
      if (!body) return undefined
      // guard: H22 a grant token cannot be forged
      const shown = Buffer.from(mac!, 'base64url')
      if (!keys.some((key) => timingSafeEqual(macOf(signed(body, database), key), shown)))
        return undefined
      return {
        id: id!,
        rotation: Number(rotation),
        serial: Number(serial),
        high: Number(high),
        collection: Buffer.from(name!, 'base64url').toString(),
      }
    },
  }
}
