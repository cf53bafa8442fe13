/**
 * The settings of the commands: from flags, then the environment, then the configuration file, then
 * defaults. Guarantees that an unknown or wrong setting stops the start, and that the message names
 * it and the fix.
 */
import { z } from 'zod'
import { type CollectionsOptions, collectionsSetting } from './bound/collections-setting.js'
import { readConfigFile } from './config-file.js'
import { DATABASES_LISTED, databases, host, limits, origin, serverPrefix } from './http/options.js'
import { tokens } from './http/token-options.js'
import { checked, inWords, nodeTag, publicUrl } from './ledger/options.js'
import { databaseUrl, ledgerLimits } from './open-ledger.js'
import { type RootSetting, rootSettings } from './region/options.js'
import { horizon, type ServeOptions } from './serve.js'

const MAX_PORT = 65_535

/** Flags and the environment give it as text. Empty text is not port 0. */
const port = z.preprocess(
  (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
  z.int({ error: notPort }).min(0).max(MAX_PORT, `has to be 0 to ${MAX_PORT}; 0 picks a free one`),
)

/** Kubernetes tells each pod of each service: of one named `hilo` by `HILO_PORT`. */
function notPort({ input }: { input?: unknown }): string {
  return /^tcp:/.test(String(input))
    ? 'has to be a number. Kubernetes sets it so for a service that is named hilo: set ' +
        'enableServiceLinks to false in the pod, or rename the service'
    : 'has to be a number'
}

/** Flags and environment variables give a list as text, with commas. */
const hosts = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((each) => each.trim()) : value),
  z.array(host).min(1),
)

const MAX_DRAIN_SECONDS = 600
/** Seconds; a fraction is one, too. */
const drain = z.preprocess(
  (value) => (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value),
  z
    .number('has to be a number of seconds')
    .min(0)
    .max(MAX_DRAIN_SECONDS, `has to be 0 to ${MAX_DRAIN_SECONDS} seconds`),
)

/** Days. */
const horizonDays = z.preprocess(
  (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
  horizon,
)

/** Finds what is wrong, and leaves the setting as it is: it is read where the ledger is opened. */
const asChecked =
  (schema: z.ZodType) =>
  (value: unknown, context: z.RefinementCtx): void => {
    const { error } = schema.safeParse(value, { error: inWords })
    for (const { path, message } of error?.issues ?? [])
      context.addIssue({ code: 'custom', path, message })
  }

/** Settings that only the file has. */
const inFile = {
  serverPrefix: serverPrefix.optional(),
  databases: databases.optional(),
  cors: z.strictObject({ origins: z.array(origin) }).optional(),
  tokens: tokens.optional(),
  logRequests: z.boolean().optional(),
  collections: z
    .custom<CollectionsOptions>(
      (value) => Object(value) === value,
      'has to be an object of databases',
    )
    .superRefine(asChecked(collectionsSetting))
    .optional(),
  upstream: z
    .custom<RootSetting>((value) => Object(value) === value, 'has to be an object with url or etcd')
    .transform(withSecrets)
    .superRefine(asChecked(rootSettings))
    .optional(),
  limits: z
    .strictObject({ ...limits.shape, ...ledgerLimits.shape })
    .partial()
    .optional(),
}

const config = z
  .strictObject({
    port: port.optional(),
    host: z.string().min(1).optional(),
    data: z.string().min(1).optional(),
    databaseUrl: databaseUrl.optional(),
    nodeTag: nodeTag.optional(),
    publicUrl: publicUrl.optional(),
    hosts: hosts.optional(),
    drain: drain.optional(),
    horizon: horizonDays.optional(),
    ...inFile,
  })
  .refine(...DATABASES_LISTED)
  .superRefine(({ databases, collections = {} }, context) => {
    if (!Array.isArray(databases)) return
    const listed = databases.map((name) => name.toLowerCase())
    for (const name of Object.keys(collections))
      if (!listed.includes(name.toLowerCase()))
        context.addIssue({
          code: 'custom',
          path: ['collections', name],
          message:
            'is not among databases, so nobody would use these bindings. If the name is ' +
            'mistyped, the server would count by itself, and make ids that are in use',
        })
  })

/** What flags and environment variables say. */
export interface Flags {
  port?: string
  host?: string
  data?: string
  databaseUrl?: string
  nodeTag?: string
  publicUrl?: string
  hosts?: string
  drain?: string
  horizon?: string
  config?: string
}

export interface Settings extends ServeOptions {
  /** Seconds between SIGTERM and the end of listening. */
  drain?: number | undefined
}

/**
 * @param names of flags and variables that were given, as in `HILO_PORT`
 * @throws Error that names what was wrong, where it was given, and the fix
 */
export function readConfig(
  { config: file, ...flags }: Flags,
  names: { [K in keyof Flags]?: string } = {},
): Settings {
  const nameOf = (path: readonly PropertyKey[]) => {
    const [key = '', ...rest] = path.map(String)
    const flag = key in flags ? names[key as keyof Flags] : undefined
    if (flag !== undefined) return [flag, ...rest].join('.')
    return [path.join('.'), file].filter(Boolean).join(' in ') || 'options'
  }
  refuseIgnored()
  const { data, ...settings } = checked(
    config,
    { ...(file !== undefined && readConfigFile(file)), ...flags },
    'offline-hilo-server',
    nameOf,
  )
  if (data !== undefined && settings.databaseUrl !== undefined)
    throw new Error(
      `${nameOf(['data'])} and ${nameOf(['databaseUrl'])} name two ledgers: give one of them.`,
    )
  return { ...settings, dataDir: data }
}

/** If `HILO_TOKENS` were ignored, the server would be open to everybody. */
function refuseIgnored(): void {
  for (const key of Object.keys(inFile)) {
    const name = `HILO_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
    if (process.env[name] !== undefined)
      throw new Error(
        `${name}: there is no such variable. Give ${key} in the configuration file, which ` +
          '--config or HILO_CONFIG names.',
      )
  }
}

/** Secrets have no place in a file that is checked in. */
function withSecrets(upstream: RootSetting): RootSetting {
  const { HILO_UPSTREAM_TOKEN: token, HILO_UPSTREAM_USER: user } = process.env
  const { HILO_UPSTREAM_PASSWORD: password } = process.env
  return 'etcd' in upstream
    ? { ...upstream, ...(user && { user }), ...(password && { password }) }
    : { ...upstream, ...(token && { token }) }
}
