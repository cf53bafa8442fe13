/**
 * An app outside of a browser: makes ids of one collection, and prints each. What it does at its
 * end is none of its code: the process ends when nothing is left to do, or it is killed.
 */
import { createHilo } from 'offline-hilo'
import { sqliteStore } from 'offline-hilo/sqlite'

const [driver, file, url, count] = process.argv.slice(2) as [string, string, string, string]

const { default: Default, DatabaseSync, Database } = await import(driver)
const database = new (DatabaseSync ?? Database ?? Default)(file)
const hilo = createHilo({ url, database: 'Shop', store: sqliteStore({ database }) })

// SQLite may report a disk error when processes open a new file at once: an app tries again.
const nextId = () => hilo.nextId('orders')
for (let i = 0; i < Number(count); i++) console.log(await nextId().catch(nextId))
