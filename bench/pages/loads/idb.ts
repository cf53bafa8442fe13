/** What a page loads until it has a number of its own, from a counter behind idb. */
import { openDB } from 'idb'

window.firstId = nextNumber()

async function nextNumber(): Promise<number> {
  const db = await openDB('idb-counter', 1, {
    upgrade: (upgraded) => void upgraded.createObjectStore('counters'),
  })
  const tx = db.transaction('counters', 'readwrite')
  const number = ((await tx.store.get('orders')) ?? 0) + 1
  await Promise.all([tx.store.put(number, 'orders'), tx.done])
  return number
}
