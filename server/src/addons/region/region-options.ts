/** Where a region's numbers come from, checked: another server of ours, its root, or etcd. */
import { z } from 'zod'
import { type Checks, inWords, nodeTag, publicUrl } from '../../ledger/option-checks.js'
import { tlsFiles } from '../upstream/request.js'

interface RegionOptions {
  /**
   * How many numbers of each collection the region keeps for when the root is away. Default 10,000.
   * While numbers go fast, it keeps those of ten seconds if that is more.
   */
  reserve?: number | undefined
}

/** All numbers of this server are claimed from another offline-hilo-server, its root. */
export interface RootOptions extends RegionOptions {
  /** Of the root: `https://ids.example.com`. */
  url: string
  /** A token that the root expects. Commands also take it from `HILO_UPSTREAM_TOKEN`. */
  token?: string | undefined
}

/** All numbers of this server are blocks from an etcd cluster. */
export interface EtcdOptions extends RegionOptions {
  /** The nodes: `["https://a.example.com:2379", …]`. */
  etcd: readonly string[]
  /** Numbers per block, the same in all regions. Default 1,000. */
  block?: number | undefined
  /** Keys begin with it. Default `offline-hilo`. */
  prefix?: string | undefined
  /** The tag of the ids, the same in all regions. Default `A`. */
  tag?: string | undefined
  /** Commands also take both from `HILO_UPSTREAM_USER` and `HILO_UPSTREAM_PASSWORD`. */
  user?: string | undefined
  password?: string | undefined
  /** A client certificate, as files in PEM. */
  certificate?: { cert: string; key: string } | undefined
  /** The authority that signed the nodes' certificates, a file in PEM. Default: those of Node. */
  ca?: string | undefined
}

/** Where a region's numbers come from. */
export type RootSetting = RootOptions | EtcdOptions

const LEAST_RESERVE = 32
const MOST_RESERVE = 100_000_000

const reserve = z
  .int('has to be a whole number')
  .min(LEAST_RESERVE, `has to be at least ${LEAST_RESERVE}`)
  .max(MOST_RESERVE, `has to be at most ${MOST_RESERVE}`)
  .or(z.literal(0))
  .default(10_000)

const rootServer = z.strictObject({
  url: publicUrl,
  token: z
    .string()
    .min(1, 'is empty: leave it out')
    .regex(
      /^[\x21-\x7e]*$/,
      'may have no spaces or line breaks. It may come from HILO_UPSTREAM_TOKEN',
    )
    .optional(),
  reserve,
} satisfies Checks<RootOptions>)

const MOST_PER_BLOCK = 2 ** 30

const etcdCluster = z
  .strictObject({
    etcd: z.array(publicUrl).min(1, 'is empty: name the nodes'),
    block: z
      .int('has to be a whole number')
      .min(LEAST_RESERVE, `has to be at least ${LEAST_RESERVE}`)
      .max(MOST_PER_BLOCK, `has to be at most ${MOST_PER_BLOCK}`)
      .default(1_000),
    prefix: z.string().min(1, 'is empty: leave it out').default('offline-hilo'),
    tag: nodeTag.default('A'),
    user: z.string().min(1, 'is empty: leave it out').optional(),
    password: z.string().optional(),
    ...tlsFiles,
    reserve,
  } satisfies Checks<EtcdOptions>)
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    path: ['password'],
    error: 'goes with user: give both, or neither',
  })

export const rootSettings = z
  .looseObject(
    {},
    'has to be an object, like {"url": "https://ids.example.com"} or {"etcd": [ … ]}',
  )
  .transform((given, context): Root | Etcd => {
    const { data, error } = ('etcd' in given ? etcdCluster : rootServer).safeParse(given, {
      error: inWords,
    })
    for (const issue of error?.issues ?? [])
      context.issues.push({ ...issue, code: 'custom', input: given })
    return data ?? z.NEVER
  })

export type Root = z.output<typeof rootServer>
export type Etcd = z.output<typeof etcdCluster>
