/**
 * docs/counters.md and docs/counter-functions.md as a reader types them: the commands, the
 * configuration of the commonest counter and the code as they stand, and the SQL of
 * docs/storing-ids.md. The reader knows nothing else than the address of the database, and has the
 * counter that the code names.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { blocksOf } from '../../../../test/docs/blocks.js'
import { atFileEnd } from '../../../../test/support/file-end.js'
import { newFolder } from '../../folders.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { cliFile } from '../../processes.js'
import { environmentWith } from '../../run-cli.js'

/** The first block of a language below a heading, and the file that the text above it names. */
function blockOf(page: string, heading: string, language: string) {
  const path = join(import.meta.dirname, '../../../../docs', page)
  const markdown = `\n${readFileSync(path, 'utf8')}`
  const section = markdown.slice(markdown.indexOf(`\n${heading}\n`))
  const block = blocksOf(section).find((each) => each.language === language)!
  const above = section.split('\n').slice(0, block.line - 2)
  const [, file] = /`([^`]+)`:\s*$/.exec(above.join('\n')) ?? []
  return { text: block.text, file }
}

const PAGE = 'counters.md'
const commandsBelow = (page: string, heading: string) =>
  blockOf(page, heading, 'sh').text.split('\n')
/** @returns what follows the program's name, without the comment */
const wordsOf = (command: string) =>
  /^npx offline-hilo-server (.*?)(?: +#.*)?$/.exec(command)![1]!.split(' ')

test('a plain sequence: proved, served, and a record stored with its id', async () => {
  const databaseUrl = await newDatabase()
  const sql = (text: string) => runSql(databaseUrl, text)
  await sql('CREATE TABLE orders (id serial PRIMARY KEY, customer text)')
  const order = () => sql("INSERT INTO orders (customer) VALUES ('Grace')")
  await order()
  const folder = newFolder()
  const configuration = blockOf(PAGE, '## A plain sequence', 'json')
  writeFileSync(join(folder, configuration.file!), configuration.text)

  const typed: string[] = []
  const environment: NodeJS.ProcessEnv = {}
  let url = ''
  for (const line of commandsBelow(PAGE, '# The counter of your back end')) {
    const [, name] = /^export (\w+)=".*"$/.exec(line) ?? []
    if (name) {
      environment[name] = databaseUrl
      continue
    }
    const args = wordsOf(line)
    typed.push(args.slice(0, 2).join(' '))
    if (args[0] === 'serve')
      await type([...args, '--port', '0'], environment, folder, (line) => {
        url = /http:\S+/.exec(line)![0]
      })
    else await type(args, environment, folder, args.includes('--prove') ? order : undefined)
  }
  expect(typed).toEqual(['check --config', 'init --config', 'check --prove', 'serve --config'])

  const granted = await fetch(`${url}/databases/Shop/hilo/next?tag=orders`)
  const { Low } = (await granted.json()) as { Low: number }
  await sql(blockOf('storing-ids.md', '## SQL', 'sql').text.replace('4711', String(Low)))
  await order()
  const { rows } = await sql(`SELECT customer FROM orders WHERE id = ${Low}`)
  expect(rows).toEqual([{ customer: 'Ada' }])
})

test('any other counter: a ledger is made, and a claim is answered', async () => {
  const page = 'counter-functions.md'
  const heading = '# A counter by a function'
  const folder = newFolder()
  for (const line of commandsBelow(page, heading)) await type(wordsOf(line), {}, folder)
  const program = join(folder, 'server.mjs')
  const index = pathToFileURL(join(await cliFile(), '../index.mjs')).href
  writeFileSync(
    program,
    `let hi = 1
    const yourCounter = { next: async () => hi++ }
    const yourOrders = { haveIdBetween: async (low, high) => false }
    ${blockOf(page, heading, 'ts').text.replaceAll("'offline-hilo-server'", `'${index}'`)}
    const address = 'http://localhost/databases/Shop/hilo/next?tag=orders'
    console.log(await (await handler(new Request(address))).text())
    await ledger.close()`,
  )
  const printed: string[] = []
  await run([program], {}, folder, (line) => printed.push(line))
  expect(JSON.parse(printed.join('\n'))).toMatchObject({ Prefix: 'orders/', Low: 100, High: 131 })
})

/** Types a command. Whatever it says is told, and it ends well, or goes on running. */
const type = async (args: readonly string[], ...rest: Rest) =>
  run([await cliFile(), ...args], ...rest)

type Rest = [environment: NodeJS.ProcessEnv, cwd: string, says?: (line: string) => unknown]

async function run(
  args: readonly string[],
  ...[environment, cwd, says = () => {}]: Rest
): Promise<void> {
  const env = environmentWith(environment)
  const child = spawn(process.execPath, args, { env, cwd })
  atFileEnd(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const closed = once(child, 'close')
  for await (const line of createInterface(child.stdout)) {
    await says(line)
    if (args[1] === 'serve') return
  }
  expect(await closed, errors).toEqual([0, null])
}
