/** Servers that are stopped and started again under load lose no request. */
import { expect, onTestFinished, test } from 'vitest'
import type { NextAnswer } from '../../src/core/wire.js'
import { freePort } from '../../test/support/free-port.js'
import { serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { startLoadBalancer } from './load-balancer.js'
import { type ServerProcess, startProcess } from './processes.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const TIMEOUT = 120_000

/** Claims by so many clients at once, until it is stopped. Resolves with what went wrong. */
function startLoad(url: string, clients: number) {
  const faults: string[] = []
  const lows = new Set<number>()
  let isStopped = false
  const loops = Array.from({ length: clients }, async () => {
    while (!isStopped) {
      try {
        const response = await fetch(url + NEXT)
        const text = await response.text()
        if (response.status === 201) lows.add((JSON.parse(text) as NextAnswer).Low)
        else faults.push(`${response.status} ${text}`)
      } catch (error) {
        faults.push(String((error as Error).cause ?? error))
      }
    }
  })
  return {
    /** Numbers that were granted. */
    lows,
    answered: (count: number) => expect.poll(() => lows.size).toBeGreaterThan(lows.size + count),
    async stop(): Promise<string[]> {
      isStopped = true
      await Promise.all(loops)
      return faults
    },
  }
}

test('SIGTERM under load: not ready first, then each answer ends its connection, then the end', {
  timeout: TIMEOUT,
}, async () => {
  const data = newFolder()
  for (let round = 0; round < 6; round++) {
    const server = await startProcess(['--port', '0', '--data', data, '--drain', '600'])
    const health = async () => fetch(`${server.url}/healthz`)
    const load = startLoad(server.url, 32)
    await load.answered(100)
    expect((await health()).headers.get('Connection')).toBe('keep-alive')
    void server.stop()
    await expect.poll(async () => (await health()).status).toBe(503)
    // A load balancer that knows it still sends what it has accepted.
    await load.answered(100)
    expect((await fetch(server.url + NEXT)).headers.get('Connection')).toBe('close')
    expect(await load.stop()).toEqual([])
    // A second signal ends the waiting.
    expect(await server.stop()).toBe(0)
  }
})

test('a rolling restart of two servers behind a load balancer loses no request', {
  timeout: TIMEOUT,
}, async () => {
  const data = newFolder()
  const start = (port: number) =>
    startProcess(['--port', String(port), '--data', data], { HILO_DRAIN: '1' })
  const ports = [await freePort(), await freePort()]
  const servers: ServerProcess[] = await Promise.all(ports.map(start))
  const balancer = await startLoadBalancer(servers.map(({ url }) => url))
  onTestFinished(() => balancer.close())
  await Promise.all(servers.map(({ url }) => balancer.sees(url, true)))
  const load = startLoad(balancer.url, 16)
  for (const [i, port] of ports.entries()) {
    await load.answered(50)
    expect(await servers[i]!.stop()).toBe(0)
    await load.answered(50)
    servers[i] = await start(port)
    await balancer.sees(servers[i]!.url, true)
  }
  await load.answered(50)
  expect(await load.stop()).toEqual([])
})

test('connections live longer than the 60 seconds of load balancers', async () => {
  const server = await serve({ port: 0, dataDir: newFolder() })
  onTestFinished(() => server.close())
  const { headers } = await fetch(`${server.url}/healthz`)
  expect(headers.get('Keep-Alive')).toBe('timeout=75')
})
