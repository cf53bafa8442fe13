/**
 * The flags and environment variables of every command, which say where the ledger is, and how a
 * command fails. Guarantees that a message names the flag, the variable or the file that was wrong.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import { LedgerMissing, LedgerUnavailable, UpstreamUnavailable } from '../ledger/ledger-errors.js'
import {
  type Flags,
  isServiceLink,
  readConfig,
  SETTINGS,
  type Setting,
  type SettingName,
  type Settings,
  variableOf,
} from '../settings.js'

/** The value of an unknown flag is not repeated: it may be a secret. */
const UNKNOWN_OPTION = /unknown option '(--[^=']*|-[^-]).*'/s

export const newCommand = (name: string, description: string): Command =>
  new OnceCommand(name).description(description).configureOutput({
    outputError: (text, write) => write(text.replace(UNKNOWN_OPTION, "unknown option '$1'")),
  })

/**
 * Its flags with a value come once: somebody may think that both count. A series that is not listed
 * after a restore is given again.
 */
class OnceCommand extends Command {
  override addOption(option: Option): this {
    const { parseArg, required, optional } = option
    // A reader that is given what came before gathers all.
    const isOnce = (required || optional) && parseArg?.length !== 2
    let isThere = false
    if (isOnce)
      option.argParser((value: string, before: unknown) => {
        if (isThere)
          throw new Error(
            `${option.long} is there twice, and only the last one would count. Give it once.`,
          )
        isThere = true
        return parseArg ? parseArg(value, before) : value
      })
    return super.addOption(option)
  }
}

/** A command with the flags that name a ledger. */
export const ledgerCommand = (name: string, description: string): Command =>
  newCommand(name, description)
    .addOption(flagOf('data'))
    .addOption(flagOf('databaseUrl'))
    .addOption(
      new Option(
        '--config <file>',
        'JSON file with these settings and: databases, cors, tokens, limits, …',
      ).env('HILO_CONFIG'),
    )

/** A command that works on a ledger behind an address, too. */
export const operatedCommand = (name: string, description: string): Command =>
  ledgerCommand(name, description).option(
    '--url <address>',
    'the Worker that has the ledger, as in https://ids.example.workers.dev. Its operatorToken is ' +
      'in HILO_OPERATOR_TOKEN',
  )

/** One that changes a ledger: it shows its plan first. */
export const changingCommand = (name: string, description: string): Command =>
  operatedCommand(name, description).option(
    '--yes',
    'do it. Without this it says what it would do, and asks at the terminal',
  )

/** The flag of a setting, and its variable. */
export function flagOf(name: SettingName): Option {
  const { value, bare, says, default: otherwise }: Setting = SETTINGS[name]
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const option = new Option(
    `--${flag} ${bare === undefined ? `<${value}>` : `[${value}]`}`,
    `${says} (default: ${otherwise})`,
  )
  return (bare === undefined ? option : option.preset(bare)).env(variableOf(name))
}

/** A flag that is given by hand, once: no setting of the file or the environment. */
export const firstOption = (): Option =>
  new Option(
    '--first',
    "make the row of a bound counter in an ORM's table, where it has none under its key",
  )

/** @throws InvalidArgumentError */
export function readNumber(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number === 0 || !Number.isSafeInteger(number))
    throw new InvalidArgumentError('It has to be a whole number from 1 to 2^53-1.')
  return number
}

/**
 * Runs a command with its settings.
 * @throws Error that says which setting named the database, where that cannot be opened
 */
export async function withSettings(
  command: Command,
  run: (settings: Settings) => Promise<void>,
): Promise<void> {
  const { flags, names } = givenTo(command)
  const settings = readConfig(flags, names)
  const first = command.getOptionValue('first') === true
  // With more flags than a port, somebody has a ledger already.
  const isTryOut = Object.keys(flags).every((key) => key === 'port')
  try {
    await run({ ...settings, first, create: first || isTryOut })
  } catch (error) {
    if (!isAboutDatabase(error)) throw error
    const { databaseUrl, dataDir } = settings
    const key = databaseUrl === undefined ? 'data' : 'databaseUrl'
    const isGiven = (databaseUrl ?? dataDir) !== undefined
    const name = names[key] ?? (isGiven ? `${key} in ${flags.config}` : undefined)
    const what = key === 'data' ? 'The folder comes' : 'Address, user and password come'
    const { message, cause } = error as Error
    const help = (cause as { code?: string })?.code === NO_RIGHT ? ` ${OWN_TABLES}` : ''
    throw name === undefined
      ? error
      : new Error(`${message}${help}\n${what} from ${name}.`, { cause: error })
  }
}

/**
 * The address of `operatedCommand`.
 * @throws Error when another ledger is named as well
 */
export function urlOf(command: Command): string | undefined {
  const url: string | undefined = command.getOptionValue('url')
  const other = Object.values(givenTo(command).names)[0]
  if (url !== undefined && other !== undefined)
    throw new Error(`--url and ${other} name two ledgers: give one of them.`)
  return url
}

interface GlobalFlags {
  flags: Flags
  /** The flag or the variable by which each setting was given. */
  names: { [K in keyof Flags]?: string }
}

function givenTo(command: Command): GlobalFlags {
  const flags: Record<string, string> = {}
  const names: Record<string, string> = {}
  for (const option of command.options) {
    const key = option.attributeName()
    const source = command.getOptionValueSource(key)
    const isSetting = option.envVar !== undefined && (source === 'cli' || source === 'env')
    const value = command.getOptionValue(key)
    if (!isSetting || (source === 'env' && isServiceLink(option.envVar!, value))) continue
    flags[key] = value
    names[key] = source === 'cli' ? option.long! : option.envVar!
  }
  // The name that hosting platforms use.
  const { DATABASE_URL } = process.env
  if (!DATABASE_URL || 'databaseUrl' in flags || names.data === '--data') return { flags, names }
  if ('data' in flags)
    throw new Error('HILO_DATA and DATABASE_URL name two ledgers: give one of them.')
  return {
    flags: { ...flags, databaseUrl: DATABASE_URL },
    names: { ...names, databaseUrl: 'DATABASE_URL' },
  }
}

/** PostgreSQL's codes for a wrong user, password or database. */
const REFUSED_BY_POSTGRES = /^(28|3D)/
/** For a missing right. */
const NO_RIGHT = '42501'
const OWN_TABLES =
  'The server makes its tables, hilo_…, and upgrades them: let this user own them, and GRANT ' +
  'CREATE ON SCHEMA public, or the schema that is used, to it.'

const isAboutDatabase = (error: unknown): boolean =>
  error instanceof LedgerMissing ||
  (error instanceof LedgerUnavailable && !(error instanceof UpstreamUnavailable)) ||
  REFUSED_BY_POSTGRES.test((error as { code?: string }).code ?? '')

/** How a command says that it failed: its message on stderr, and 1 as the exit code. */
export function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
