/** The tests need no internet: they pass where it swallows all, and tell what Chromium awaits. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { connect, launchChromium } from './chromium.js'

const ROOT = join(import.meta.dirname, '../..')

/** A network and mounts of its own. */
const ALONE = [
  '--net',
  '--mount',
  ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
  'sh',
  '-euc',
]
/**
 * What is sent away is never answered, and neither is a question for a name. Only the new tab page
 * of Debian's Chromium has an address: a browser that opens it would wait for minutes.
 */
const SWALLOW = `
  PATH=$PATH:/usr/sbin:/sbin
  ip link set lo up
  ip link add swallow type veth peer name end
  ip address add 192.0.2.1/24 dev swallow
  ip link set swallow up
  ip link set end up
  ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev swallow
  ip route add default via 192.0.2.2
  mount -t tmpfs none /mnt
  echo nameserver 198.51.100.53 > /mnt/resolv.conf
  mount --bind /mnt/resolv.conf /etc/resolv.conf
  echo '127.0.0.1 localhost\n198.51.100.80 start.duckduckgo.com' > /mnt/hosts
  mount --bind /mnt/hosts /etc/hosts`

const FILES = 'browser/crashes.test browser/network.test'
const TESTS = 'at rest|at the first try'

const mayUnshare = spawnSync('unshare', [...ALONE, SWALLOW]).status === 0
const leftOut = mayUnshare ? '' : ' (left out: network namespaces are not permitted)'

test.skipIf(!mayUnshare)(`pass behind a network that swallows everything${leftOut}`, async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const run = `exec "${process.execPath}" "${vitest}" run --project browser ${FILES} -t '${TESTS}'`
  const args = [...ALONE, `${SWALLOW}\n${run}`]
  const { stdout } = await promisify(execFile)('unshare', args, {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: '1', CI: '', TEST_ENGINES: 'chromium' },
  })
  expect(stdout).toMatch(/Tests +2 passed/)
})

test('Chromium can be driven at the first try', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'hilo-first-'))
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }))
  const browser = await launchChromium(profile)
  await browser.kill()
})

test('a browser that cannot be driven is an error with its pages', async () => {
  const server = createServer((_, answer) => answer.end('[{ "url": "https://far.example/" }]'))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.on('upgrade', (_, socket) => socket.destroy())
  await expect(connect(`ws://127.0.0.1:${port}/devtools`)).rejects.toThrow('https://far.example/')
})
