/**
 * The least that a number from storage takes: a worker that opens IndexedDB and does one strict
 * read-modify-write.
 */
const start = performance.now()
const worker = new Worker(new URL('./floor-worker.ts', import.meta.url), { type: 'module' })
window.firstId = new Promise((resolve) => {
  worker.onmessage = () => resolve(performance.now() - start)
})
