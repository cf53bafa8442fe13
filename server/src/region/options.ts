/** Where a region's numbers come from, checked: another server of ours, its root, or etcd. */
import { z } from 'zod'
import { publicUrl } from '../ledger/options.js'

/** All numbers of this server are claimed from another offline-hilo-server, its root. */
export interface RootOptions {
  /** Of the root: `https://ids.example.com`. */
  url: string
  /** A token that the root expects. Commands also take it from `HILO_UPSTREAM_TOKEN`. */
  token?: string | undefined
  /**
   * Numbers per collection that are kept here for when the root is away. Default 10,000. While
   * numbers go fast, ten seconds' worth are kept if that is more.
   */
  reserve?: number | undefined
}

const LEAST_RESERVE = 32
const MOST_RESERVE = 100_000_000

const reserve = z
  .int('is a whole number')
  .min(LEAST_RESERVE, `is at least ${LEAST_RESERVE}`)
  .max(MOST_RESERVE, `is at most ${MOST_RESERVE}`)
  .or(z.literal(0))
  .default(10_000)

export const rootSettings = z.strictObject({
  url: publicUrl,
  token: z.string().min(1, 'is empty: leave it out').optional(),
  reserve,
})

export type Root = z.output<typeof rootSettings>
