/** What a page loads until it has a number of its own, from a counter in Dexie. */
import { Dexie } from 'dexie'

const db = new Dexie('dexie-counter')
db.version(1).stores({ counters: '' })
const counters = db.table<number, string>('counters')

window.firstId = db.transaction('rw', counters, async () => {
  const number = ((await counters.get('orders')) ?? 0) + 1
  await counters.put(number, 'orders')
  return number
})
