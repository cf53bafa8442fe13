/**
 * The settings of the commands, each described once: its check, its flag, its variable, and its
 * text in `--help` and docs/server-reference.md. To add one, add an entry. They come from flags,
 * then the environment, then the configuration file. Guarantees that an unknown, empty or wrong
 * setting stops the start, and that the message names it and the fix.
 */
import { z } from 'zod'
import { type CollectionsOptions, collectionsSetting } from './addons/bound/collections-setting.js'
import { type RootSetting, rootSettings } from './addons/region/region-options.js'
import { readConfigFile } from './config-file.js'
import { drainSeconds } from './drain.js'
import {
  allLimits,
  DATABASES_LISTED,
  databases,
  host,
  origin,
  port,
  refuseUnlisted,
  serverPrefix,
} from './http/handler-options.js'
import { DEFAULT_HOST, DEFAULT_PORT } from './http/open.js'
import { tokens } from './http/tokens.js'
import { checked, hint, inWords, nodeTag, publicUrl, secrets } from './ledger/option-checks.js'
import { DEFAULT_HORIZON_DAYS, horizon } from './ledger/prune.js'
import { DEFAULT_DATA_DIR, databaseUrl, dataDir } from './open-ledger.js'
import type { ServeOptions } from './serve.js'

export interface Setting {
  /** Describes the values that it takes. */
  check: z.ZodType
  /** Where nothing is said. */
  default: string
  /** For `--help` and docs/server-reference.md. */
  says: string
  /** The value's name in `--help`. Without it, only the configuration file has the setting. */
  value?: string
  /** The flag may stand without a value, and then says this one. */
  bare?: string
  /** Makes a value of the text that a flag or a variable gives. Default: the text. */
  read?: (text: string) => unknown
}

/** Load balancers ask for health every few seconds. */
export const DEFAULT_DRAIN_SECONDS = 5

/** Empty text is no number. */
const number = (text: string): unknown => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text)

const yesOrNo = (text: string): unknown =>
  text === 'true' ? true : text === 'false' ? false : text

/** A list as text, with commas. */
const list = (text: string): string[] => text.split(',').map((each) => each.trim())

/**
 * Finds faults, and leaves the setting as it is: it is read where the ledger is opened.
 * @param rule completes "has to be" in the message
 */
const asChecked = <T>(schema: z.ZodType, rule: string) =>
  z
    .custom<T>((value) => Object(value) === value, `has to be ${rule}`)
    .superRefine((value, context) => {
      const { error } = schema.safeParse(value, { error: inWords })
      for (const { path, message } of error?.issues ?? [])
        context.addIssue({ code: 'custom', path, message })
    })

/** In the order of `--help` and of docs/server-reference.md. */
export const SETTINGS = {
  port: {
    value: 'number',
    read: number,
    check: port,
    default: `${DEFAULT_PORT}`,
    says: '0 picks a free one',
  },
  host: {
    value: 'address',
    check: z
      .string()
      .min(1)
      .regex(/^[^\s[\]]*$/, 'has to be an address or a name, as in 127.0.0.1 or ::1'),
    default: DEFAULT_HOST,
    says: '0.0.0.0 for every network, with `tokens` or `open`',
  },
  open: {
    value: 'true|false',
    bare: 'true',
    read: yesOrNo,
    check: z.boolean('has to be true or false'),
    default: 'false',
    says:
      'everybody may ask, without a token, from every network and under every name. Without it, ' +
      'a server without `tokens` listens on this machine only',
  },
  data: {
    value: 'folder',
    check: dataDir,
    default: DEFAULT_DATA_DIR,
    says:
      'SQLite in this folder. The file in it is hilo.db. The default is for trying out: where ' +
      'NODE_ENV says production, name the folder or `databaseUrl`',
  },
  databaseUrl: {
    value: 'url',
    check: databaseUrl,
    default: 'none: SQLite',
    says:
      'PostgreSQL instead, as in postgres://user:password@host/database. Also DATABASE_URL: ' +
      'everybody on the machine can read a password in a flag',
  },
  nodeTag: {
    value: 'tag',
    check: nodeTag,
    default: 'A',
    says: 'ends every id, as in orders/1-A; each ledger has another one, and keeps it',
  },
  publicUrl: {
    value: 'url',
    check: publicUrl,
    default: 'the host that was asked for',
    says: 'what /topology tells clients. Beyond this machine, with `tokens` or `open`',
  },
  hosts: {
    value: 'names',
    read: list,
    check: z.array(host).min(1),
    default: 'with `tokens` or `open` any; otherwise those of this machine',
    says:
      'the names under which the server may be asked, with commas between: ' +
      'ids.example.com,localhost:8080. A name without a port stands for every port. A name of ' +
      'other machines needs `tokens` or `open`',
  },
  drain: {
    value: 'seconds',
    read: number,
    check: drainSeconds,
    default: `${DEFAULT_DRAIN_SECONDS}`,
    says: 'how many seconds it still answers after SIGTERM, while /healthz says 503',
  },
  horizon: {
    value: 'days',
    read: number,
    check: horizon,
    default: `${DEFAULT_HORIZON_DAYS}`,
    says:
      'days, at least 30. If the server hears nothing of a grant for so long, it takes the ' +
      'numbers for issued, and removes the row',
  },
  databases: {
    check: databases,
    default: 'any name',
    says:
      'the databases that exist. Without a list, a database is created when it is first asked ' +
      'for; but with `collections`, only the databases in it exist. With `tokens`, a list or ' +
      '`"any"` is required',
  },
  tokens: {
    check: tokens,
    default: 'none: everybody on this machine may ask',
    says:
      'a list of texts or of `{"token", "databases", "collections", "actions", "devices"}`: ' +
      'see [Who may ask](server.md#who-may-ask)',
  },
  secrets: {
    check: secrets,
    default: 'the ledger keeps its own',
    says:
      'a list of texts that sign grant tokens, the newest first. Also HILO_SECRETS, with commas ' +
      'between: [A secret outside of the ledger](security.md#a-secret-outside-of-the-ledger)',
  },
  cors: {
    check: z.strictObject({ origins: z.array(origin) }),
    default: "none: only pages of the server's own origin",
    says: '`{"origins": […]}`, also those of apps, as in `capacitor://localhost`',
  },
  serverPrefix: {
    check: serverPrefix,
    default: 'none',
    says: 'what the document `Raven/ServerPrefixForHilo` says to clients of RavenDB 2 and 3',
  },
  logRequests: { check: z.boolean(), default: 'false', says: 'one line per request' },
  collections: {
    check: asChecked<CollectionsOptions>(collectionsSetting, 'an object of databases'),
    default: 'none',
    says:
      'collections whose numbers come from the counter of an ORM, or from a RavenDB: ' +
      '[Counters](counters.md)',
  },
  upstream: {
    check: asChecked<RootSetting>(rootSettings, 'an object with url or etcd'),
    default: 'none',
    says: 'where all numbers of this server come from, if it is a region: [Regions](regions.md)',
  },
  limits: {
    check: allLimits.partial(),
    default: 'see below',
    says: 'what a request may ask for',
  },
} satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

/** As entries, of which some lack a field. */
export const DESCRIBED = Object.entries(SETTINGS) as [SettingName, Setting][]

/** The flags and environment variables, and the place of the configuration file. */
export type Flags = { [K in SettingName | 'config']?: string }

export interface Settings extends ServeOptions {
  /** Seconds between SIGTERM and the end of listening. */
  drain?: number | undefined
}

const config = z
  .strictObject(
    Object.fromEntries(DESCRIBED.map(([name, { check }]) => [name, check.optional()])) as {
      [K in SettingName]: z.ZodOptional<(typeof SETTINGS)[K]['check']>
    },
  )
  .refine(...DATABASES_LISTED)
  .superRefine(refuseUnlisted)

/**
 * @param names of flags and variables that were given, as in `HILO_PORT`
 * @throws Error that names the mistake, where it was given, and the fix
 */
export function readConfig(
  { config: file, ...flags }: Flags,
  names: { [K in keyof Flags]?: string } = {},
): Settings {
  const nameOf = (path: readonly PropertyKey[]) => {
    const [key = '', ...rest] = path.map(String)
    const isOutside = key === 'secrets' && process.env.HILO_SECRETS
    const flag = isOutside ? 'HILO_SECRETS' : key in flags && names[key as keyof Flags]
    if (flag) return [flag, ...rest].join('.')
    return [path.join('.'), file].filter(Boolean).join(' in ') || 'options'
  }
  refuseVariables(process.env)
  const given: Record<string, unknown> = file === undefined ? {} : { ...readConfigFile(file) }
  for (const [name, { read = (text: string) => text }] of DESCRIBED)
    if (flags[name] !== undefined) given[name] = read(flags[name])
  const { upstream } = given
  if (upstream === undefined || Object(upstream) === upstream)
    given.upstream = withSecrets(upstream as RootSetting | undefined)
  if (process.env.HILO_SECRETS) given.secrets = list(process.env.HILO_SECRETS)
  const { data, ...settings } = checked(config, given, 'offline-hilo-server', nameOf)
  if (data !== undefined && settings.databaseUrl !== undefined)
    throw new Error(
      `${nameOf(['data'])} and ${nameOf(['databaseUrl'])} name two ledgers: give one of them.`,
    )
  return { ...settings, dataDir: data }
}

/** `nodeTag` is `HILO_NODE_TAG`. */
export const variableOf = (name: string): string =>
  `HILO_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

const SECRETS = ['HILO_UPSTREAM_TOKEN', 'HILO_UPSTREAM_USER', 'HILO_UPSTREAM_PASSWORD'] as const
const VARIABLES = [
  ...DESCRIBED.filter(([, { value }]) => value !== undefined).map(([name]) => variableOf(name)),
  'HILO_CONFIG',
  'HILO_OPERATOR_TOKEN',
  'HILO_SECRETS',
  ...SECRETS,
]

/** By this one, apps on the same machine find the server. It says nothing to the server itself. */
const OF_APPS = 'HILO_URL'

/**
 * If a variable were ignored, the server would go on otherwise than somebody wanted: on another
 * ledger, or open to everybody.
 * @throws Error that names the variable and the fix
 */
function refuseVariables(environment: NodeJS.ProcessEnv): void {
  for (const [name, value = ''] of Object.entries(environment)) {
    const isOurs = name.startsWith('HILO_')
    if ((!isOurs && name !== 'DATABASE_URL') || name === OF_APPS) continue
    if (isServiceLink(name, value)) continue
    const inFile = DESCRIBED.find(([key]) => variableOf(key) === name)?.[0]
    if (isOurs && !VARIABLES.includes(name))
      throw new Error(
        `${name}: there is no such variable. ${
          inFile
            ? `Give ${inFile} in the configuration file, which --config or HILO_CONFIG names.`
            : `${hint([name], VARIABLES)}There are: ${VARIABLES.join(', ')}.`
        }`,
      )
    if (value === '')
      throw new Error(`${name}: is empty. Give it a value, or remove it from the environment.`)
  }
}

const ADDRESS = /^([\d.]+|[\da-f:]+)$/i
const ENDPOINT = /^(tcp|udp|sctp):\/\//
const PORT = /^\d+$/
/** The form of a value, by the end of its name. */
const SERVICE_LINKS: [name: RegExp, value: RegExp][] = [
  [/_SERVICE_HOST$/, ADDRESS],
  [/_SERVICE_PORT(_[A-Z\d_]+)?$/, PORT],
  [/_PORT$/, ENDPOINT],
  [/_PORT_\d+_(TCP|UDP|SCTP)$/, ENDPOINT],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, /^(tcp|udp|sctp)$/],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, PORT],
  [/_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, ADDRESS],
]

/**
 * Kubernetes tells each pod of each service: of one named `hilo`, or `hilo-eu`, by variables such
 * as `HILO_PORT=tcp://10.0.0.9:8080`. Nobody wrote them, so they say nothing.
 */
export const isServiceLink = (name: string, value: string): boolean =>
  SERVICE_LINKS.some(([ofName, ofValue]) => ofName.test(name) && ofValue.test(value))

/**
 * Secrets have no place in a file that is checked in.
 * @throws Error: one of them is for no root that the settings name. Without it, the server would
 * count by itself
 */
function withSecrets(upstream: RootSetting | undefined): RootSetting | undefined {
  const used = !upstream ? [] : 'etcd' in upstream ? SECRETS.slice(1) : SECRETS.slice(0, 1)
  const unused = SECRETS.find((name) => process.env[name] && !used.includes(name))
  // guard: H24 a secret for a root without that root does not start a server that counts by itself
  if (unused)
    throw new Error(
      `${unused}: \`upstream\` in the settings names no root that it is for, so it would be ` +
        'ignored. Give `upstream` in the file that --config or HILO_CONFIG names, or remove ' +
        'the variable.',
    )
  const [token, user, password] = SECRETS.map((name) => process.env[name])
  return (
    upstream && {
      ...upstream,
      ...(token && { token }),
      ...(user && { user }),
      ...(password && { password }),
    }
  )
}
