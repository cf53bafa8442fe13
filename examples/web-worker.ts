/**
 * An app whose logic runs in a worker. The owner of the ranges runs in the same worker, so no
 * second worker is started.
 */
import { createHilo } from 'offline-hilo/worker'

const hilo = createHilo({ collections: { readings: { reserve: 1000 } } })

/** Each message is a batch of measured values; the answer is the same batch with ids. */
addEventListener('message', async ({ data: values }: MessageEvent<number[]>) => {
  const ids = await hilo.nextIds('readings', values.length)
  postMessage(values.map((value, i) => ({ id: ids[i], value })))
})
