/** Runs in the page: nanoseconds per id, beside what an app would use otherwise. Each figure is the median of several rounds. */
import { createHilo } from '../src/index.js'

export interface Row {
  name: string
  nanoseconds: number
}

const ROUNDS = 7
/** Every result is kept for a while, so that nothing is optimised away. */
const kept: unknown[] = new Array(1024)

export async function run(count: number): Promise<Row[]> {
  const hilo = createHilo({ database: 'bench', name: 'bench' })
  await hilo.warm('orders', 2 * count, { timeout: 60_000 })
  let counter = 0
  const rows: Row[] = []
  const measure = async (name: string, times: number, round: (times: number) => unknown) => {
    const figures: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      await hilo.warm('orders', 2 * count, { timeout: 60_000 })
      const start = performance.now()
      await round(times)
      figures.push(((performance.now() - start) * 1e6) / times)
    }
    rows.push({ name, nanoseconds: figures.sort((a, b) => a - b)[ROUNDS >> 1]! })
  }

  await measure('a bare counter in a template (the floor)', count, (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = `orders/${counter++}-A`
  })
  await measure('hilo.nextIdSync', count, (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = hilo.nextIdSync('orders')
  })
  await measure('hilo.nextNumberSync', count, (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = hilo.nextNumberSync('orders')
  })
  await measure('crypto.randomUUID', count, (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = crypto.randomUUID()
  })
  await measure('await a resolved promise', count, async (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = await Promise.resolve(i)
  })
  await measure('await hilo.nextId', count, async (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = await hilo.nextId('orders')
  })
  const db = await openCounter()
  await measure('one strict IndexedDB transaction per id', Math.min(count, 200), async (times) => {
    for (let i = 0; i < times; i++) kept[i & 1023] = await countInStorage(db)
  })
  db.close()
  await hilo.close()
  return rows
}

function openCounter(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('bench-counter', 1)
    request.onupgradeneeded = () => request.result.createObjectStore('counter')
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function countInStorage(db: IDBDatabase): Promise<string> {
  return new Promise((resolve, reject) => {
    const tx = db.transaction('counter', 'readwrite', { durability: 'strict' })
    const store = tx.objectStore('counter')
    let next = 0
    const request = store.get('orders')
    request.onsuccess = () => {
      next = (request.result ?? 0) + 1
      store.put(next, 'orders')
      tx.commit()
    }
    tx.oncomplete = () => resolve(`orders/${next}-A`)
    tx.onabort = () => reject(tx.error)
  })
}
