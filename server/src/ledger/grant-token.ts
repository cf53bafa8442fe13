/**
 * Grant tokens: opaque texts that only the device with the grant can know; and the secrets that
 * sign them. The ledger keeps its secret itself, or, where an operator keeps it elsewhere, only a
 * fingerprint. Guarantees that a forged token costs no query, and that a ledger is opened with its
 * own secret or not at all.
 */
import { Buffer } from 'node:buffer'
import {
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto'

/** The content of a token. Only who names the grant's database can read it. */
export interface TokenContent {
  /** Which grant. */
  id: string
  /** Each check-in raises it; an older token is void from then on (H12). */
  tokenVersion: number
  /** The place of the grant among those of its collection: 1, 2, 3 … */
  serial: number
  /** The highest number that the grant held when the token was written. */
  high: number
  collection: string
  /** Of a series that was handed over: the beginning of the claim by which its device got it. */
  takenBy?: string | undefined
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

/**
 * A name of 501 bytes can have 752 in lower case, with a `|`: `İ` becomes two characters. A line
 * with a part of a claim may follow.
 */
const TOKEN = /^(([\w-]{16})\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.([\w-]{1,1037}))\.([\w-]{22})$/

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

/**
 * @param secrets the first signs; tokens of all are read
 * @param region the own name of a region's ledger, as regions may share their secrets
 */
export function grantTokens(secrets: readonly string[], region = ''): GrantTokens {
  /** A name of a database, or of a ledger, has no line break. */
  const signer = region && `${region}\n`
  const signed = (body: string, database: string): string => `${signer}${database}\n${body}`
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)))
  // As text: a digest as bytes gets memory of its own, outside of the heap.
  const digestOf = (body: string, key: KeyObject) =>
    createHmac('sha256', key).update(body).digest('base64url')
  const macOf = (body: string, key: KeyObject) =>
    Buffer.from(digestOf(body, key), 'base64url').subarray(0, MAC_BYTES)
  return {
    write({ id, tokenVersion, serial, high, database, collection, takenBy }) {
      const name = Buffer.from(takenBy ? `${collection}\n${takenBy}` : collection)
      const body = `${id}.${tokenVersion}.${serial}.${high}.${name.toString('base64url')}`
      return `${body}.${macOf(signed(body, database), keys[0]!).toString('base64url')}`
    },
    read(token, database) {
      const [, body, id, tokenVersion, serial, high, name, mac] = TOKEN.exec(token) ?? []
      if (!body) return undefined
      // guard: H22 a grant token cannot be forged
      const shown = Buffer.from(mac!, 'base64url')
      if (!keys.some((key) => timingSafeEqual(macOf(signed(body, database), key), shown)))
        return undefined
      const [collection, takenBy] = Buffer.from(name!, 'base64url').toString().split('\n')
      return {
        id: id!,
        tokenVersion: Number(tokenVersion),
        serial: Number(serial),
        high: Number(high),
        collection: collection!,
        takenBy,
      }
    },
  }
}

export interface Secrets {
  /** The first signs. Tokens that any of them signed are known. */
  known: readonly string[]
  /** As the ledger keeps it. */
  kept: string
  /** May another process of the same ledger have left it there? */
  isOurs(kept: string | null): boolean
  /** The ledger keeps this from now on, and nothing of before. */
  renewed(): string
}

const FINGERPRINT = 'sha256:'

/**
 * @param kept as the ledger has it; undefined: it is new
 * @param outside the operator's secrets, the newest first
 * @throws Error where the ledger's secret is none of these
 */
export function secretsOf(kept: string | undefined, outside?: readonly string[]): Secrets {
  const [signer, own] = partsOf(kept)
  if (!outside) {
    // guard: H22 all servers of a ledger sign with its secret
    if (signer !== undefined)
      throw new Error(`The secret of this ledger is kept outside of it. ${GIVE}`)
    const inside = own ?? newSecret()
    return {
      known: [inside],
      kept: inside,
      isOurs: (each) => each === inside,
      renewed: newSecret,
    }
  }
  const fingerprints = outside.map(fingerprint)
  // guard: H22 a ledger is opened with its own secret or not at all
  if (signer !== undefined && !fingerprints.includes(signer))
    throw new Error(`None of \`secrets\` is the secret of this ledger. ${GIVE}`)
  const keeps = [signer ?? fingerprints[0]!, own].filter(Boolean).join(' ')
  return {
    // It goes on knowing the tokens that it signed while its secret was inside.
    known: own === undefined ? outside : [...outside, own],
    kept: keeps,
    isOurs: (each) => fingerprints.includes(partsOf(each ?? '')[0]!),
    renewed() {
      // guard: H20 a copy that keeps its secret does not say that it has a new one
      if (keeps === fingerprints[0])
        throw new RangeError(
          'The secret of this ledger is kept outside of it, and is the first one of `secrets` ' +
            '(HILO_SECRETS) already. Nothing was changed. Put a new one in front of it, and do ' +
            'this again.',
        )
      return fingerprints[0]!
    },
  }
}

/** The fingerprint of the secret outside of the ledger, and the secret that it had before. */
function partsOf(kept: string | undefined): [signer?: string | undefined, own?: string] {
  if (kept === undefined) return []
  const [first, own] = kept.split(' ')
  if (!isKeptOutside(kept)) return [undefined, kept]
  return own === undefined ? [first] : [first, own]
}

/** @param kept a ledger's record of its secret */
export const isKeptOutside = (kept: string | null): boolean => `${kept}`.startsWith(FINGERPRINT)

/** Of a secret that cannot be guessed: its options refuse a short one. */
const fingerprint = (secret: string): string =>
  FINGERPRINT + createHash('sha256').update(`offline-hilo ${secret}`).digest('hex')

const GIVE =
  'Give it as HILO_SECRETS, or as `secrets` in the configuration file or of openLedger. If it is ' +
  'lost, no device can show any more that the ledger was restored from a backup: then put a new ' +
  'one there, remove the row `secret` of hilo_meta, and follow what the next start says.'
