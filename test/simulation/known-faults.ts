/**
 * The faults of the product that the simulation finds. Each is named by its word, an event that is
 * switched off in ordinary schedules because of the fault. Whoever mends a fault removes its entry:
 * that switches the word on.
 *
 *     npm run simulate -- --word NAME --until-failure    looks for a seed
 */
export interface KnownFault {
  /** What goes wrong, in one sentence. */
  fault: string
  /** A schedule that fails with this word alone, and passes without it. */
  seed: number
  /** What the checker says of it, and of no other fault. */
  says: RegExp
}

/** By the name of the word (words.ts). */
export const KNOWN_FAULTS: Readonly<Record<string, KnownFault>> = {}
