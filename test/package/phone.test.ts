/** docs/phone.md word by word, with the starter and a Chromium on a network of its own. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test, vi } from 'vitest'
import { mkcert, unless } from '../support/programs.js'
import { REPOSITORY } from './packed.js'
import { type PhoneTab, switchOnPhone, withoutPhone } from './phone.js'
import { Reader, type Step, stepsOf } from './reader.js'
import { leftOut, newFolder, order, says, stored } from './shop.js'

/** What the starter needs is fetched. */
const PATIENCE = 600_000
const packed = inject('packed')
const PAGE = 'docs/phone.md'
const STARTER = join(REPOSITORY, 'examples/starter')
const left = leftOut || withoutPhone || unless(mkcert)

test.skipIf(left)(
  `a phone gets ids, and over https it loads the page offline${left}`,
  { timeout: PATIENCE },
  async () => {
    const authority = newFolder()
    vi.stubEnv('CAROOT', authority)
    const phone = switchOnPhone()
    const reader = await Reader.begin(newFolder(), packed)
    const take = async (steps: Step[]) => {
      for (const step of steps)
        await reader.take({ ...step, text: step.text.replaceAll('192.168.1.5', phone.machine) })
    }
    const atNetwork = (command: string) =>
      `${reader.running.get(command)!.url.replace('127.0.0.1', phone.machine)}/`
    await copyStarter(reader)

    await take(stepsOf(PAGE, '## Ids', '## '))
    const api = reader.running.get('HILO_OPEN=true npm start')!.url
    const byHttp = await phone.newTab()
    await byHttp.goto(atNetwork('npx vite --host'))
    await order(byHttp, 'Ada')
    await says(byHttp, ['orders/1-A Ada, sent'])
    phone.flightMode(true)
    await order(byHttp, 'Grace')
    await says(byHttp, ['orders/1-A Ada, sent', 'orders/2-A Grace, waits'])
    phone.flightMode(false)
    await says(byHttp, ['orders/1-A Ada, sent', 'orders/2-A Grace, sent'])
    expect(await serviceWorker(byHttp)).toBe('there are none')

    await take(stepsOf(PAGE, '## A page that loads offline', '## '))
    const byHttps = atNetwork('npx vite preview --config vite.phone.config.ts --host')
    const careless = await phone.newTab()
    await careless.gotoAnyway(byHttps)
    expect(await serviceWorker(careless)).toContain('An SSL certificate error occurred')

    const careful = await phone.newTab(join(authority, 'rootCA.pem'))
    await careful.goto(byHttps)
    await order(careful, 'Linus')
    expect(await serviceWorker(careful)).toBe('it runs')
    phone.flightMode(true)
    await careful.reload()
    await order(careful, 'Edsger')
    phone.flightMode(false)
    const names = async () => (await stored(api)).map((each) => each.split(' ')[1])
    await expect.poll(names, { timeout: 30_000 }).toEqual(['Ada', 'Grace', 'Linus', 'Edsger'])
  },
)

async function copyStarter(reader: Reader): Promise<void> {
  cpSync(STARTER, reader.path('.'), { recursive: true })
  const text = readFileSync(join(STARTER, 'vite.config.ts'), 'utf8')
  await reader.take({ kind: 'file', path: 'vite.config.ts', text })
  await reader.type('npm install offline-hilo offline-hilo-server')
  await reader.type('npx offline-hilo-server init --data hilo-data')
}

const serviceWorker = (tab: PhoneTab) =>
  tab.evaluate(async () => {
    if (!navigator.serviceWorker) return 'there are none'
    return navigator.serviceWorker
      .register('/sw.js')
      .then(() => navigator.serviceWorker.ready)
      .then(() => 'it runs', String)
  })
