// The orders of this browser, in IndexedDB: its own, and those that the server has from others.

const opened = new Promise((resolve, reject) => {
  const opening = indexedDB.open('order-desk', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('orders', { keyPath: 'id' })
  opening.onsuccess = () => resolve(opening.result)
  opening.onerror = () => reject(opening.error)
})

/** Resolves when they are stored. */
export async function storeOrders(orders) {
  const transaction = (await opened).transaction('orders', 'readwrite')
  for (const order of orders) transaction.objectStore('orders').put(order)
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error)
  })
}

/** The oldest first. */
export async function allOrders() {
  const reading = (await opened).transaction('orders').objectStore('orders').getAll()
  const orders = await new Promise((resolve, reject) => {
    reading.onsuccess = () => resolve(reading.result)
    reading.onerror = () => reject(reading.error)
  })
  return orders.sort((one, other) => one.madeAt.localeCompare(other.madeAt))
}
