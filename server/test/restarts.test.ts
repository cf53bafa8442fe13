/** Servers that are stopped and started again under load lose no request. */
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { startLoad } from './load.js'
import { startProcess } from './processes.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'

test('SIGTERM under load: not ready, each answer ends its connection, then the end', async () => {
  const data = newFolder()
  for (let round = 0; round < 2; round++) {
    const server = await startProcess(['--port', '0', '--data', data, '--drain', '600'])
    const health = async () => fetch(`${server.url}/healthz`)
    const load = startLoad(32, () => fetch(server.url + NEXT))
    await load.granted(100)
    expect((await health()).headers.get('Connection')).toBe('keep-alive')
    void server.stop()
    await expect.poll(async () => (await health()).status).toBe(503)
    // A load balancer that knows it still sends the requests that it has accepted.
    await load.granted(100)
    expect((await fetch(server.url + NEXT)).headers.get('Connection')).toBe('close')
    expect(await load.stop()).toEqual([])
    // A second signal ends the waiting.
    expect(await server.stop()).toBe(0)
  }
})

test('connections live longer than the 60 seconds of load balancers', async () => {
  const server = await serve({ create: true, port: 0, dataDir: newFolder() })
  onTestFinished(() => server.close())
  const { headers } = await fetch(`${server.url}/healthz`)
  expect(headers.get('Keep-Alive')).toBe('timeout=75')
})
