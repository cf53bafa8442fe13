/** The command `serve`, which also runs when no command is named. */
import { type Command, Option } from 'commander'
import { hint } from '../ledger/option-checks.js'
import { DEFAULT_DRAIN_SECONDS, DESCRIBED, type Settings } from '../settings.js'
import { fail, flagOf, ledgerCommand, withSettings } from './flags.js'
import { newLedgerLine, versionAt } from './place.js'
import { cautionsOf, startLine } from './start-line.js'

export function serveCommand(): Command {
  const command = ledgerCommand(
    'serve',
    'Answer claims until SIGTERM, SIGHUP or SIGINT; then finish what is under way.',
  )
  const there = command.options.map((option) => option.attributeName())
  for (const [name, { value }] of DESCRIBED)
    if (value !== undefined && !there.includes(name)) command.addOption(flagOf(name))
  return command
    .addOption(
      new Option(
        '--first',
        "this is the first start: make the ledger, and the row of a bound counter in an ORM's " +
          'table, where there is none',
      ),
    )
    .allowExcessArguments()
    .action(async (_, command: Command) => {
      const [unknown] = command.args
      if (unknown !== undefined) refuseUnknown(command, unknown)
      await withSettings(command, (settings) => run(settings, command.getOptionValue('config')))
    })
}

/** SIGHUP says that its terminal was closed. */
const ENDS = ['SIGTERM', 'SIGHUP'] as const

async function run(settings: Settings, config: string | undefined): Promise<void> {
  const { drain = DEFAULT_DRAIN_SECONDS, ...options } = settings
  // The first process of a container ends by no signal that it does not handle. A start may be cut
  // off anywhere, like a crash.
  const cutOff = () => process.exit(0)
  for (const signal of ENDS) process.on(signal, cutOff)
  // Only a server loads these files: other commands start in half the time.
  const [{ createLog }, { serve }] = await Promise.all([
    import('../node/pino-log.js'),
    import('../serve.js'),
  ])
  const log = createLog()
  const isNew = options.create === true && (await versionAt(options)) === undefined
  const server = await serve({ ...options, log })
  for (const signal of ENDS)
    process.off(signal, cutOff).on(signal, () => {
      log.info({ drain }, 'The server is about to stop: /healthz answers 503.')
      server.close({ drain }).catch(fail)
    })
  // Somebody waits at the terminal.
  process.on('SIGINT', () => server.close().catch(fail))
  const line = startLine(settings, server.url)
  const serves = `offline-hilo-server serves ${server.url}\n`
  // A person at a terminal reads three lines; programs read the log.
  if (process.stdout.isTTY) {
    const ledger = isNew ? newLedgerLine(options) : `The ledger: ${line.storage}\n`
    process.stdout.write(`${serves}${ledger}Ctrl-C stops it.\n`)
    for (const caution of cautionsOf(settings, config)) process.stderr.write(`${caution}\n`)
    return
  }
  log.info(line, 'The server has started.')
  for (const caution of cautionsOf(settings, config)) log.error({}, caution)
  process.stdout.write(`${serves}${isNew ? newLedgerLine(options) : ''}`)
}

/** An unknown command ends up here, because this is the default command. */
function refuseUnknown(command: Command, name: string): never {
  const known = command.parent!.commands.map((each) => each.name())
  if (known.includes(name))
    command.error(`error: '${name}' has to come before its flags: ${name} --data …`)
  command.error(
    `error: unknown command '${name}'. ${hint([name], known)}There are: ${known.join(', ')}. ` +
      'See --help.',
  )
}
