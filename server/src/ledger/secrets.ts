/**
 * What signs the grant tokens. The ledger keeps its secret itself, or, where an operator keeps it
 * elsewhere, only a fingerprint: then nobody who has a copy of the ledger can sign. Guarantees that
 * a ledger is opened with its own secret or not at all.
 */
import { createHash } from 'node:crypto'
import { newSecret } from './grant-token.js'

export interface Secrets {
  /** The first signs. Tokens that any of them signed are known. */
  known: readonly string[]
  /** What the ledger keeps. */
  kept: string
  /** Is that what another process of the same ledger may have left there? */
  isOurs(kept: string | null): boolean
  /** What the ledger keeps from now on, and nothing of before. */
  renewed(): string
}

const FINGERPRINT = 'sha256:'

/**
 * @param kept what the ledger has; undefined: it is new
 * @param outside what the operator keeps, the newest first
 * @throws Error where the ledger's secret is none of these
 */
export function secretsOf(kept: string | undefined, outside?: readonly string[]): Secrets {
  const isOutside = kept?.startsWith(FINGERPRINT)
  if (!outside) {
    if (isOutside) throw new Error(`The secret of this ledger is kept outside of it. ${GIVE}`)
    const own = kept ?? newSecret()
    return { known: [own], kept: own, isOurs: (each) => each === own, renewed: newSecret }
  }
  const fingerprints = outside.map(fingerprint)
  // guard: H22 a ledger is opened with its own secret or not at all
  if (isOutside && !fingerprints.includes(kept!))
    throw new Error(`None of \`secrets\` is the secret of this ledger. ${GIVE}`)
  return {
    // It goes on knowing the tokens that it signed while its secret was inside.
    known: kept === undefined || isOutside ? outside : [...outside, kept],
    kept: kept ?? fingerprints[0]!,
    isOurs: (each) => each === kept || fingerprints.includes(each!),
    renewed: () => fingerprints[0]!,
  }
}

/** Of a secret that cannot be guessed: its options refuse a short one. */
const fingerprint = (secret: string): string =>
  FINGERPRINT + createHash('sha256').update(`offline-hilo ${secret}`).digest('hex')

const GIVE =
  'Give it as HILO_SECRETS, or as `secrets` in the configuration file or of openLedger. If it is ' +
  'lost, no device can show any more that the ledger was restored from a backup: then put a new ' +
  'one there, remove the row `secret` of hilo_meta, and follow what the next start says.'
