/**
 * `npm start`: the order desk on one address. The flags are also PORT, HOST, HILO_DATA and
 * DATABASE_URL in the environment.
 */
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'

const PAGES = fileURLToPath(new URL('../dist', import.meta.url))

const { port, host, open, data, databaseUrl } = new Command('npm start --')
  .description('The order desk: pages, HiLo server and orders API in one process.')
  .option(
    '--port <number>',
    'port to listen on, 0 for any free one',
    readPort,
    readPort(process.env.PORT ?? '5173'),
  )
  .option(
    '--host <address>',
    'address to listen on; 0.0.0.0 for every network, with --open',
    process.env.HOST ?? '127.0.0.1',
  )
  .option('--open', 'everybody who reaches this address may use it: nobody is asked for a token')
  .option(
    '--data <folder>',
    'folder of the SQLite database',
    process.env.HILO_DATA ?? './hilo-data',
  )
  .option(
    '--database-url <url>',
    'a PostgreSQL to use instead: postgres://user:password@host/database',
    process.env.DATABASE_URL,
  )
  .parse()
  .opts<{ port: number; host: string; open?: boolean; data: string; databaseUrl?: string }>()

try {
  await listenOnce()
  console.log('Building the order desk …')
  // After that line: to load the bundler takes seconds.
  const [{ buildDesk }, { startDesk }] = await Promise.all([
    import('./build.js'),
    import('./desk-server.js'),
  ])
  await buildDesk(PAGES)
  const database = databaseUrl ? { databaseUrl } : { data }
  const desk = await startDesk({ pages: PAGES, database, port, host, open })
  console.log(
    `Order desk: ${desk.url}  (data in ${databaseUrl ? 'PostgreSQL' : data}; Ctrl+C stops it)`,
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => desk.close().then(() => process.exit(0)))
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  const taken =
    `Port ${port} on ${host} is taken. Stop what runs there, ` +
    'or choose another: npm start -- --port 0'
  console.error(code === 'EADDRINUSE' ? taken : `The order desk did not start. ${message}`)
  process.exit(1)
}

function readPort(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || text.trim() === '')
    throw new InvalidArgumentError('a port is a number from 0 to 65535.')
  return port
}

/** Nobody waits for a build to hear that the port is taken. */
async function listenOnce(): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  await new Promise((resolve) => server.close(resolve))
}
