/** The command `serve`, which also runs when no command is named. */
import { type Command, Option } from 'commander'
import { createLog } from '../http/log.js'
import { DEFAULT_HORIZON_DAYS, DEFAULT_HOST, DEFAULT_PORT, serve } from '../serve.js'
import type { Settings } from '../settings.js'
import { fail } from './fail.js'
import { ledgerCommand, withSettings } from './flags.js'
import { newLedgerLine } from './init-command.js'
import { versionAt } from './place.js'
import { startLine } from './start-line.js'

/** Load balancers ask for health every few seconds. */
const DEFAULT_DRAIN_SECONDS = 5

export const serveCommand = (): Command =>
  ledgerCommand('serve', 'Answer claims until SIGTERM or SIGINT; then finish what is under way.')
    .addOption(
      new Option('--port <number>', `0 picks a free one (default ${DEFAULT_PORT})`).env(
        'HILO_PORT',
      ),
    )
    .addOption(
      new Option('--host <address>', `0.0.0.0 for every network (default ${DEFAULT_HOST})`).env(
        'HILO_HOST',
      ),
    )
    .addOption(
      new Option(
        '--node-tag <tag>',
        'ends every id, as in orders/1-A; another one for every other ledger (default A)',
      ).env('HILO_NODE_TAG'),
    )
    .addOption(
      new Option(
        '--public-url <url>',
        'what /topology tells clients (default: the address they asked)',
      ).env('HILO_PUBLIC_URL'),
    )
    .addOption(
      new Option(
        '--hosts <names>',
        'the names under which it may be asked, with commas (default: any)',
      ).env('HILO_HOSTS'),
    )
    .addOption(
      new Option(
        '--drain <seconds>',
        'how long it goes on answering after SIGTERM, while /healthz says 503 ' +
          `(default ${DEFAULT_DRAIN_SECONDS})`,
      ).env('HILO_DRAIN'),
    )
    .addOption(
      new Option(
        '--horizon <days>',
        'a grant of which nothing was heard for so long counts as issued ' +
          `(default ${DEFAULT_HORIZON_DAYS})`,
      ).env('HILO_HORIZON'),
    )
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
      await withSettings(command, run)
    })

async function run(settings: Settings): Promise<void> {
  const { drain = DEFAULT_DRAIN_SECONDS, ...options } = settings
  const log = createLog()
  // The first process of a container ends by no signal that it does not handle. A start may be cut
  // off anywhere, like a crash.
  const cutOff = () => process.exit(0)
  process.on('SIGTERM', cutOff)
  const isNew = options.create === true && (await versionAt(options)) === undefined
  const server = await serve({ ...options, log })
  process.off('SIGTERM', cutOff)
  process.on('SIGTERM', () => {
    log.info({ drain }, 'The server is about to stop: /healthz answers 503.')
    server.close({ drain }).catch(fail)
  })
  // Somebody waits at the terminal.
  process.on('SIGINT', () => server.close().catch(fail))
  log.info(startLine(settings, server.url), 'The server has started.')
  process.stdout.write(
    `offline-hilo-server serves ${server.url}\n${isNew ? newLedgerLine(options) : ''}`,
  )
}

/** An unknown command ends up here, because this is the default command. */
function refuseUnknown(command: Command, name: string): never {
  const known = command.parent!.commands.map((each) => each.name()).join(', ')
  command.error(`error: unknown command '${name}'. There are: ${known}. See --help.`)
}
