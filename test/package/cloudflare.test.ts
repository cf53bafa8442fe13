/**
 * What the repository has for Cloudflare, as it stands there, with wrangler itself: the example, as
 * its README says, and the files of `server/deploy`.
 */
import { cpSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { expectAppAndIds, newApp } from '../../server/test/one-origin.js'
import { askAt } from '../../server/test/proxies.js'
import { openBrowser } from '../browser/browser.js'
import { REPOSITORY } from './packed.js'
import { Reader, stepsOf } from './reader.js'
import { leftOut, newFolder, order, says, stored } from './shop.js'

const EXAMPLE = 'examples/cloudflare'
const DEV = 'npx wrangler dev'
const packed = inject('packed')

test.runIf(leftOut === '')(
  `an order made offline is in the Durable Object's table${leftOut}`,
  async () => {
    const folder = newFolder()
    cpSync(join(REPOSITORY, EXAMPLE), folder, { recursive: true })
    const reader = await Reader.begin(folder, packed)
    for (const step of stepsOf(`${EXAMPLE}/README.md`, '## Try it', '## '))
      await reader.type(
        step.text === 'npm install' ? 'npm install offline-hilo offline-hilo-server' : step.text,
      )
    const server = () => reader.running.get(DEV)!
    const tab = await (await openBrowser('chromium')).newPage()

    await tab.goto(server().url)
    await tab.evaluate(async () => void (await navigator.serviceWorker.ready))
    await order(tab, 'Ada')
    await says(tab, ['orders/1-A Ada, sent'])
    expect(await stored(server().url)).toEqual(['orders/1-A Ada'])
    await server().kill()
    await order(tab, 'Grace')
    await tab.reload()
    await order(tab, 'Linus')
    const waiting = ['orders/1-A Ada, sent', 'orders/2-A Grace, waits']
    await says(tab, [...waiting, expect.stringMatching(/^orders\/\d+-A Linus, waits$/)])

    await reader.type(DEV)
    const sent = ['orders/1-A Ada, sent', 'orders/2-A Grace, sent']
    await says(tab, [...sent, expect.stringMatching(/ Linus, sent$/)])
    expect(await stored(server().url)).toHaveLength(3)
    await reader.type('npx wrangler deploy --dry-run')
  },
)

test.runIf(leftOut === '')(`an app and its ids on one origin${leftOut}`, async () => {
  const folder = newFolder()
  cpSync(join(REPOSITORY, 'server/deploy/one-origin/cloudflare'), folder, { recursive: true })
  renameSync(newApp(), join(folder, 'dist'))
  const reader = await Reader.begin(folder, packed)
  const create = `${DEV} --var HILO_CREATE:yes --var HILO_OPEN:true`
  await reader.type('npm install offline-hilo-server wrangler')
  await reader.type(create)
  const { url } = reader.running.get(create)!
  await expectAppAndIds(url, askAt(url))
})
