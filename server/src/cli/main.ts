#!/usr/bin/env node
/**
 * The bin `offline-hilo`: reads the command line, runs a command, ends with 1 and one clear message
 * when it cannot.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Ledger } from '../ledger/ledger.js'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { DEFAULT_HOST, DEFAULT_PORT, type ServeOptions, serve } from '../serve.js'
import { type Flags, readConfig } from '../settings.js'
import { openExisting, raiseFloor, statusTable } from './reports.js'

const program = new Command('offline-hilo-server')
  .description('HiLo server: final, short, numeric ids for apps that work offline.')
  .addHelpText(
    'after',
    `
Examples:
  $ offline-hilo-server serve                                        SQLite in ${DEFAULT_DATA_DIR}, on ${DEFAULT_HOST}:${DEFAULT_PORT}
  $ offline-hilo-server serve --database-url postgres://hilo@db/hilo --host 0.0.0.0
  $ offline-hilo-server status                                       what was granted, per collection
  $ offline-hilo-server check --config hilo.json                     are the counters that collections are bound to as configured?
  $ offline-hilo-server raise-floor Shop orders 5000                 after a restore: grant nothing up to 5000

A flag goes before its environment variable, that before the configuration file:
  {"nodeTag": "A", "databases": ["Shop"], "tokens": ["…"], "cors": {"origins": ["https://app.example.com"]}, "limits": {"count": 100000}}`,
  )

const ledgerCommand = (name: string, description: string, settings: { isDefault?: boolean } = {}) =>
  program
    .command(name, settings)
    .description(description)
    .addOption(
      new Option('--data <folder>', `SQLite in this folder (default ${DEFAULT_DATA_DIR})`).env(
        'HILO_DATA',
      ),
    )
    .addOption(
      new Option(
        '--database-url <url>',
        'PostgreSQL instead, as in postgres://user:password@host/database; also DATABASE_URL',
      ).env('HILO_DATABASE_URL'),
    )
    .addOption(
      new Option(
        '--config <file>',
        'JSON file with these settings and: databases, cors, tokens, limits, …',
      ).env('HILO_CONFIG'),
    )

ledgerCommand('serve', 'Answer claims until SIGTERM or SIGINT; then finish what is under way.', {
  isDefault: true,
})
  .addOption(
    new Option('--port <number>', `0 picks a free one (default ${DEFAULT_PORT})`).env('HILO_PORT'),
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
  .action(async (flags: Flags) => {
    const server = await serve(readFlags(flags))
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => server.close().catch(fail))
    process.stdout.write(`offline-hilo serves ${server.url}\n`)
  })

ledgerCommand('status', 'Show what was granted, per collection.').action((flags: Flags) =>
  // Also of a ledger whose collections cannot be bound just now.
  report({ ...readFlags(flags), collections: undefined }, async (ledger) =>
    statusTable(await ledger.status()),
  ),
)

ledgerCommand('raise-floor', 'Grant nothing at or below a number any more. Only up.')
  .argument('<database>')
  .argument('<collection>')
  .argument('<number>', 'the highest number that may be in use', readFloor)
  .action((database: string, tag: string, floor: number, flags: Flags) =>
    report(readFlags(flags), (ledger) => raiseFloor(ledger, database, tag, floor)),
  )

ledgerCommand(
  'check',
  'Look at every counter that a collection is bound to: can it be used as configured?',
).action(async (flags: Flags) => {
  const { check } = await import('./counters.js')
  process.stdout.write(await check(readFlags(flags)))
})

ledgerCommand(
  'adopt',
  'Put the counter that a collection is bound to above every id in use. Only up.',
)
  .argument('<database>')
  .argument('<collection>')
  .requiredOption(
    '--from <table.column>',
    'the id column of the table that moves to HiLo, like orders.id',
  )
  .option('--apply', 'run the statement, instead of printing it only')
  .action(
    async (
      database: string,
      collection: string,
      { from, apply = false, ...flags }: Flags & { from: string; apply?: boolean },
    ) => {
      const { adopt } = await import('./counters.js')
      process.stdout.write(
        await adopt(readFlags(flags), { database, collection, from, isApplied: apply }),
      )
    },
  )

program.parseAsync().catch(fail)

/** Prints what `read` finds in the ledger. */
async function report(
  options: ServeOptions,
  read: (ledger: Ledger) => Promise<string>,
): Promise<void> {
  const ledger = await openExisting(options)
  try {
    process.stdout.write(await read(ledger))
  } finally {
    await ledger.close()
  }
}

/** `DATABASE_URL` is the name that hosting platforms use. */
function readFlags(flags: Flags): ServeOptions {
  const { DATABASE_URL } = process.env
  const isGiven = !DATABASE_URL || flags.databaseUrl !== undefined || flags.data !== undefined
  return readConfig(isGiven ? flags : { ...flags, databaseUrl: DATABASE_URL })
}

function readFloor(text: string): number {
  const floor = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(floor))
    throw new InvalidArgumentError('It is a whole number up to 2^53-1.')
  return floor
}

function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
