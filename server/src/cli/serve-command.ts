/** The command `serve`, which is also what runs when no command is named. */
import { type Command, Option } from 'commander'
import { DEFAULT_HOST, DEFAULT_PORT, serve } from '../serve.js'
import type { Flags } from '../settings.js'
import { fail } from './fail.js'
import { ledgerCommand, readFlags } from './flags.js'

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
    .action(async (flags: Flags) => {
      const { drain = DEFAULT_DRAIN_SECONDS, ...options } = readFlags(flags)
      const server = await serve(options)
      process.on('SIGTERM', () => server.close({ drain }).catch(fail))
      // Somebody waits at the terminal.
      process.on('SIGINT', () => server.close().catch(fail))
      process.stdout.write(`offline-hilo-server serves ${server.url}\n`)
    })
