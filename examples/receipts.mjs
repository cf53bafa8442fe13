/** A till that may be killed at any moment: receipts 1, 2, 3 …, each of them once in its file. */
import { appendFileSync, readFileSync, truncateSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { createHilo } from 'offline-hilo'
import { consecutive } from 'offline-hilo/consecutive'
import { sqliteStore } from 'offline-hilo/sqlite'

const hilo = createHilo({
  url: process.env.HILO_URL ?? 'http://127.0.0.1:8080',
  store: sqliteStore({ database: new DatabaseSync('till.db') }),
})
const receipts = consecutive(hilo, 'receipts', { device: 'Till 3' })

const FILE = 'receipts.txt'
// When it returns, the line is on disk.
const store = (id, sale) => appendFileSync(FILE, `${id} ${sale}\n`, { flush: true })

// What a crash has left: a line that ends in its middle goes, and each number gets its receipt.
appendFileSync(FILE, '')
const lines = readFileSync(FILE, 'utf8').replace(/[^\n]*$/, '')
truncateSync(FILE, lines.length)
for (const { id, key: sale } of await receipts.unfinished()) {
  if (!lines.includes(`${id} `)) store(id, sale)
  await receipts.settle(sale, 'confirmed')
}

for (;;) {
  const sale = crypto.randomUUID()
  const { id } = await receipts.next({ key: sale })
  store(id, sale)
  await receipts.settle(sale, 'confirmed')
  console.log(id)
  await new Promise((resolve) => setTimeout(resolve, 100))
}
