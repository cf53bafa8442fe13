/** A till that may be killed at any moment: receipts 1, 2, 3 …, each of them once in its file. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
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
const isStored = (id) => existsSync(FILE) && readFileSync(FILE, 'utf8').includes(`${id} `)
const store = (id, sale) => appendFileSync(FILE, `${id} ${sale}\n`)

// What a crash has left: each number gets its receipt.
for (const { id, key: sale } of await receipts.open()) {
  if (!isStored(id)) store(id, sale)
  await receipts.confirm(sale)
}

for (;;) {
  const sale = crypto.randomUUID()
  const { id } = await receipts.next({ key: sale })
  store(id, sale)
  await receipts.confirm(sale)
  console.log(id)
  await new Promise((resolve) => setTimeout(resolve, 100))
}
