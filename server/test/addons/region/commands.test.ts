/** The commands on the ledger of a region, whose configuration says where its numbers come from. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { etcd, unless } from '../../../../test/support/programs.js'
import { serve } from '../../../src/index.js'
import { newFolder } from '../../folders.js'
import { spawnCli } from '../../processes.js'
import { startEtcd } from './etcd-cluster.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
/** What else raising a floor does in a region, which its plan says. */
const DROPS = 'drops the numbers that it keeps for when its root is away'
const silent = { error() {}, warn() {}, info() {} }

async function newServer(upstream?: { url: string } | { etcd: string[] }) {
  const data = newFolder()
  const server = await serve({ create: true, port: 0, dataDir: data, upstream, log: silent })
  onTestFinished(() => server.close({ drain: 0 }))
  const config = join(newFolder(), 'region.json')
  writeFileSync(config, JSON.stringify({ data, upstream }))
  return {
    url: server.url,
    claim: async () => (await (await fetch(server.url + NEXT)).json()) as { Low: number },
    run: (...args: string[]) => spawnCli([...args, '--config', config]),
  }
}

describe('beside a region', () => {
  test('status, series, raise-floor and drop do what they do beside any server', async () => {
    const root = await newServer()
    const { claim, run } = await newServer({ url: root.url })
    expect((await claim()).Low).toBe(1)
    expect((await run('status')).stdout).toMatch(/shop +orders +32 /)
    expect((await run('series', 'Shop')).stdout).toBe('No series in Shop yet.\n')
    expect((await run('check')).stdout).toContain('upstream, which this command does not ask')
    const one = await run('raise-floor', 'Shop', 'orders', '5000')
    expect(one).toMatchObject({ code: 1, stderr: expect.stringContaining(DROPS) })
    expect(await run('raise-floor', 'Shop', 'orders', '5000', '--yes')).toMatchObject({ code: 0 })
    expect((await claim()).Low).toBeGreaterThan(5000)
    const raised = await run('raise-floor', 'Shop', '--all', '--by', '1000', '--yes')
    expect(raised).toMatchObject({ code: 0, stdout: expect.stringContaining(DROPS) })
    expect(raised.stdout).toContain('Where new ones begin, the root of this region says.')
    expect((await claim()).Low).toBeGreaterThan(6000)
    expect(await run('drop', 'Shop', '--yes')).toMatchObject({ code: 0 })
    expect((await claim()).Low).toBeGreaterThan(6000)
  })

  test('a root that does not answer: the message does not blame the folder', async () => {
    const { run } = await newServer({ etcd: ['http://127.0.0.1:1'] })
    const { code, stderr } = await run('raise-floor', 'Shop', 'orders', '500', '--yes')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The upstream http:\/\/127.0.0.1:1 does not answer: .*\n$/)
  })

  test.skipIf(!etcd.find())(`raise-floor raises that of etcd${unless(etcd)}`, async () => {
    const cluster = await startEtcd(1)
    const [one, other] = [
      await newServer({ etcd: cluster.urls }),
      await newServer({ etcd: cluster.urls }),
    ]
    await one.claim()
    expect(await one.run('raise-floor', 'Shop', 'orders', '50000', '--yes')).toMatchObject({
      code: 0,
    })
    expect((await other.claim()).Low).toBeGreaterThan(50_000)
  })
})
