/** A counter in IndexedDB, by hand: each number is one strict read-modify-write. */
export interface Counter {
  next(): Promise<number>
  close(): void
}

export function openCounter(name: string): Promise<Counter> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('counter')
    request.onsuccess = () =>
      resolve({ next: () => next(request.result), close: () => request.result.close() })
    request.onerror = () => reject(request.error)
  })
}

function next(db: IDBDatabase): Promise<number> {
  return new Promise((resolve, reject) => {
    const tx = db.transaction('counter', 'readwrite', { durability: 'strict' })
    const store = tx.objectStore('counter')
    let number = 0
    const request = store.get('orders')
    request.onsuccess = () => {
      number = (request.result ?? 0) + 1
      store.put(number, 'orders')
      tx.commit()
    }
    tx.oncomplete = () => resolve(number)
    tx.onabort = () => reject(tx.error)
  })
}
