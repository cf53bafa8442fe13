/**
 * docs/tutorial.md word by word, in an empty folder and a browser: an order that was made offline
 * is in the API's database when the server is back. Its files are those of examples/starter.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { openBrowser } from '../browser/browser.js'
import { execute, REPOSITORY } from './packed.js'
import { Reader, stepsOf } from './reader.js'
import { leftOut, newFolder, order, says, staysOffline, stored } from './shop.js'

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
    .filter((entry) => entry.isFile() && entry.name !== 'README.md')
    .map((entry) => join(entry.parentPath, entry.name).slice(STARTER.length + 1))
  expect([...files.keys()].sort()).toEqual(paths.sort())
  for (const path of paths.filter((each) => each !== 'package.json'))
    expect(files.get(path), path).toBe(read(STARTER, path).trimEnd())
})

const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8')

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
    const port = `PORT=${new URL(server().url).port}`
    await expect(execute('env', [port, 'node', 'server.js'], reader.path('.'))).rejects.toThrow(
      /EADDRINUSE.*Stop what listens there, and start again\.\s*$/s,
    )

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
