/** A till without a browser: final ids from a SQLite file, and an orderly end. */
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { createHilo, HiloError } from 'offline-hilo'
import { sqliteStore } from 'offline-hilo/sqlite'

const database = new DatabaseSync('ids.db')

const hilo = createHilo({
  url: process.env.HILO_URL ?? 'http://127.0.0.1:8080',
  collections: { receipts: { reserve: 500 } },
  store: sqliteStore({ database }),
})

const till = createServer((_, response) => {
  hilo.nextId('receipts').then(
    (id) => response.end(id),
    (error) => {
      console.error(error)
      // For example, no id is left, and there is no network.
      response.writeHead(503).end(HiloError.forUser(error))
    },
  )
})
till.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${till.address().port}`),
)

// Asked to end, the process first puts its unused ids back into the file.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await hilo.close()
    process.exit()
  })
