/** `npm start`: the order desk on one address. `--port`, `--host`, `--data`, or PORT, HOST and HILO_DATA in the environment. */
import { Command, InvalidArgumentError } from 'commander'
import { startDesk } from './desk-server.js'

const { port, host, data } = new Command('npm start --')
  .description('The order desk: page, HiLo server and orders API in one process.')
  .option('--port <number>', 'port to listen on, 0 for any free one', readPort, readPort(process.env.PORT ?? '5173'))
  .option('--host <address>', 'address to listen on; 0.0.0.0 for every network', process.env.HOST ?? '127.0.0.1')
  .option('--data <folder>', 'folder of the SQLite database', process.env.HILO_DATA ?? './hilo-data')
  .parse()
  .opts<{ port: number; host: string; data: string }>()

try {
  const desk = await startDesk({ port, host, data })
  console.log(`Order desk: ${desk.url}  (data in ${data}; Ctrl+C stops it)`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => desk.close().then(() => process.exit(0)))
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
  console.error(`Port ${port} on ${host} is taken. Stop what runs there, or choose another: npm start -- --port 0`)
  process.exit(1)
}

function readPort(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || text.trim() === '')
    throw new InvalidArgumentError('a port is a number from 0 to 65535.')
  return port
}
