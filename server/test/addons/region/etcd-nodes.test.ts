/** How long a region waits for the nodes of an etcd cluster. */
import { afterEach, expect, test, vi } from 'vitest'
import { openEtcd } from '../../../src/addons/region/etcd.js'
import { UpstreamUnavailable } from '../../../src/ledger/ledger-errors.js'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const cluster = (nodes: number) =>
  openEtcd({
    etcd: Array.from({ length: nodes }, (_, i) => `http://127.0.0.1:${i + 1}`),
    block: 100,
    prefix: 'ids',
    tag: 'A',
    reserve: 0,
  })

test.each([1, 3, 5])('%i nodes that hang take four seconds in all', async (nodes) => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const began = performance.now()
  const waits: number[] = []
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    waits.push(ms)
    vi.advanceTimersByTime(ms)
    return AbortSignal.abort()
  })
  await expect(cluster(nodes).commit({}, [], [])).rejects.toThrow(UpstreamUnavailable)
  expect(waits).toHaveLength(nodes)
  expect(performance.now() - began).toBeLessThanOrEqual(4_000)
  for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(4_000 / nodes - 1)
})
