/**
 * A till outside of a browser: takes receipts' numbers, with a chain, and prints each with its key.
 * With `report` in the place of a count, it prints what it knows of all numbers.
 */
import { createHilo } from 'offline-hilo'
import { consecutive } from 'offline-hilo/consecutive'
import { chain } from 'offline-hilo/consecutive/chain'
import { sqliteStore } from 'offline-hilo/sqlite'

const [driver, file, url, count] = process.argv.slice(2) as [string, string, string, string]

const { default: Default, DatabaseSync, Database } = await import(driver)
const database = new (DatabaseSync ?? Database ?? Default)(file)
const hilo = createHilo({ url, database: 'Shop', store: sqliteStore({ database }) })
const receipts = consecutive(hilo, 'receipts', {
  chain: chain({ text: ({ id }, previous) => `${id} ${previous}` }),
})

if (count === 'report') {
  const { broken } = await receipts.verify()
  console.log(JSON.stringify({ broken, series: await receipts.report() }))
} else
  for (let i = 0; i < Number(count); i++) {
    const key = `sale ${process.pid}-${i}`
    // SQLite may report a disk error when processes open a new file at once: an app tries again.
    const next = () => receipts.next({ key })
    const { id } = await next().catch(next)
    console.log(`${key}=${id}`)
  }
await hilo.close()
