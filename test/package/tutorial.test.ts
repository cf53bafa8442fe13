/**
 * docs/tutorial.md word by word, in an empty folder and a browser: an order that was made offline
 * is in the API's database when the server is back. Its files are those of examples/starter.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openBrowser, type TestPage } from '../browser/browser.js'
import { isFull } from '../support/sizes.js'
import { emptyFolder, execute, REPOSITORY } from './packed.js'
import { Reader, stepsOf } from './reader.js'

const TUTORIAL = 'docs/tutorial.md'
const STARTER = join(REPOSITORY, 'examples/starter')
const packed = inject('packed')

/** Commands and files of the page, from one heading to another. */
const steps = (from: string, to: string) => stepsOf(TUTORIAL, from, to)
const [BUILD, DRY, PRODUCTION, DEPLOY] = [
  steps('## 1. The folder', '## 7'),
  steps('## 7. Try it', '## 8'),
  steps('## 8. Production on one origin', '## 9'),
  steps('## 9. Deploy', '## Where'),
]

test('its files are those of the starter, and so are the packages that it installs', () => {
  const files = new Map(
    BUILD.flatMap((step) => (step.kind === 'file' ? [[step.path, step.text]] : [])),
  )
  const { dependencies, devDependencies, ...rest } = JSON.parse(read(STARTER, 'package.json'))
  expect(JSON.parse(files.get('package.json')!)).toEqual(rest)
  const installs = BUILD.flatMap(({ text }) => /^npm install (.*)$/.exec(text)?.[1] ?? [])
  expect(
    installs.map((each) =>
      each
        .split(' ')
        .filter((word) => !word.startsWith('--'))
        .sort(),
    ),
  ).toEqual([Object.keys(dependencies), Object.keys(devDependencies)])
  const paths = readdirSync(STARTER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(STARTER.length + 1))
  expect([...files.keys()].sort()).toEqual(paths.sort())
  for (const path of paths.filter((each) => each !== 'package.json'))
    expect(files.get(path), path).toBe(read(STARTER, path).trimEnd())
})

const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8')

function newFolder(): string {
  const folder = emptyFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const isReachable = () =>
  execute('npm', ['ping'], REPOSITORY).then(
    () => true,
    () => false,
  )
/** Why the page is not followed, if it is not. */
const leftOut = !isFull
  ? ' (left out without CI=true: it fetches packages)'
  : (await isReachable())
    ? ''
    : ' (left out: no npm registry answers)'

test.runIf(leftOut === '')(
  `an order made offline is sent, as the page says${leftOut}`,
  async () => {
    const reader = await Reader.begin(newFolder(), packed)
    const take = async (all: typeof BUILD) => {
      for (const step of all) await reader.take(step)
    }
    const server = () => reader.running.get('npm start')!
    const tab = await (await openBrowser('chromium')).newPage()

    await take(BUILD)
    await take(DRY)
    await tab.goto(reader.running.get('npm run dev')!.url)
    await order(tab, 'Ada')
    await says(tab, ['orders/1-A Ada, sent'])
    expect(await stored(server().url)).toEqual(['orders/1-A Ada'])
    await server().kill()
    await order(tab, 'Grace')
    await says(tab, ['orders/1-A Ada, sent', 'orders/2-A Grace, waits'])
    await reader.type('npm start')
    await says(tab, ['orders/1-A Ada, sent', 'orders/2-A Grace, sent'])
    expect(await stored(server().url)).toEqual(['orders/1-A Ada', 'orders/2-A Grace'])

    await take(PRODUCTION)
    await staysOffline(reader, tab)

    const machine = join(newFolder(), 'my-shop')
    mkdirSync(machine)
    for (const path of ['dist', 'server.js', 'package.json', 'package-lock.json'])
      cpSync(reader.path(path), join(machine, path), { recursive: true })
    await server().kill()
    const deployed = await Reader.begin(machine, packed)
    for (const step of DEPLOY) await deployed.take(step)
    await staysOffline(deployed, tab)
  },
)

/** The built page loads without its server, and what is ordered there arrives later. */
async function staysOffline(reader: Reader, tab: TestPage): Promise<void> {
  const { url, kill } = reader.running.get('npm start')!
  const before = await stored(url)
  await tab.goto(url)
  await tab.evaluate(async () => void (await navigator.serviceWorker.ready))
  await order(tab, 'Linus')
  await expect.poll(() => stored(url), { timeout: 30_000 }).toHaveLength(before.length + 1)
  await kill()
  await tab.reload()
  await order(tab, 'Edsger')
  const last = (await texts(tab)).at(-1)!
  expect(last).toMatch(/^orders\/\d+-A Edsger, waits$/)
  await reader.type('npm start')
  await expect.poll(() => stored(url), { timeout: 30_000 }).toContain(last.replace(', waits', ''))
}

/** What the API has in its database. */
async function stored(url: string): Promise<string[]> {
  const orders: { id: string; customer: string }[] = await (await fetch(`${url}/api/orders`)).json()
  return orders.map(({ id, customer }) => `${id} ${customer}`)
}

const texts = (tab: TestPage) =>
  tab.evaluate(() => [...document.querySelectorAll('li')].map((each) => each.textContent))

const says = (tab: TestPage, lines: string[]) =>
  expect.poll(() => texts(tab), { timeout: 30_000 }).toEqual(lines)

/** Resolves when the order is on the page. */
async function order(tab: TestPage, customer: string): Promise<void> {
  await expect
    .poll(() => tab.evaluate(() => document.querySelector('form') !== null), { timeout: 30_000 })
    .toBe(true)
  await tab.evaluate((customer) => {
    document.querySelector('input')!.value = customer
    document.querySelector('button')!.click()
  }, customer)
  await expect
    .poll(async () => (await texts(tab)).at(-1), { timeout: 30_000 })
    .toContain(` ${customer}, `)
}
