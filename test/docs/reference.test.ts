/**
 * docs/reference.md has every member of the public types, and its defaults are those of the code.
 * `npx vitest run -u test/docs/reference.test.ts` writes the tables anew.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { limits as handlerLimits } from '../../server/src/http/handler-options.js'
import { ledgerLimits } from '../../server/src/ledger/option-checks.js'
import { checkSeriesOptions } from '../../src/addons/consecutive/options.js'
import { checkOptions } from '../../src/device/hilo-options.js'
import { type Member, membersOf } from './declared.js'

const ROOT = new URL('../../', import.meta.url)
const FILE = new URL('docs/reference.md', ROOT)
const PAGE = readFileSync(FILE, 'utf8')

/** A comment that names the types, and the table that follows it. */
const TABLE = /^<!-- (\w+): (.+) -->\n(?:\n(?:\|.*\n)+)?/gm

test('has a row for each member of each type', async () => {
  const written = PAGE.replace(TABLE, (_, kind: string, types: string) => {
    const rows = types.split(', ').flatMap((each) => {
      const [file, type] = each.split(' ') as [string, string]
      return membersOf(new URL(file, ROOT), type)
    })
    return `<!-- ${kind}: ${types} -->\n\n${tableOf(kind, rows)}`
  })
  await expect(written).toMatchFileSnapshot(fileURLToPath(FILE))
})

const COLUMNS: Record<string, (each: Member) => string> = {
  default: ({ isRequired, default: value = '–' }) => (isRequired ? 'required' : value),
  detail: ({ type }) => `\`${type}\``,
  meaning: ({ says }) => says,
}

function tableOf(kind: string, members: readonly Member[]): string {
  const extra = { option: ['default'], event: ['detail'] }[kind] ?? []
  const columns = [...extra, 'meaning']
  return [
    [kind, ...columns],
    ['---', ...columns.map(() => '---')],
    ...members.map((each) => [
      // The message of an error leads here.
      `${kind === 'code' ? `<a id="${each.name}"></a>` : ''}\`${each.name}\``,
      ...columns.map((of) => COLUMNS[of]!(each)),
    ]),
  ]
    .map((cells) => `| ${cells.map((each) => each.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
}

/** `'default'`, `10 000` and `1,000` as the values that they are. */
const plainValue = (text: string | undefined): unknown =>
  text && /^[\d ,]+$/.test(text) ? Number(text.replace(/[ ,]/g, '')) : text?.replace(/[`']/g, '')

const defaultsIn = (file: string, type: string) =>
  Object.fromEntries(
    membersOf(new URL(file, ROOT), type).map(({ name, default: value }) => [
      name,
      plainValue(value),
    ]),
  )

test('the defaults of createHilo are those of the check', () => {
  const { url, collections, findCollectionName, transformCollectionName, ...values } = checkOptions(
    {},
    'https://shop.example.com/orders',
  )
  expect(defaultsIn('src/device/hilo-options.ts', 'HiloOptions')).toMatchObject(values)
  expect(url).toBe('https://shop.example.com')
  expect(collections).toEqual({})
})

test('the defaults of consecutive are those of the check', () => {
  const { wait, makeOf } = checkSeriesOptions('receipts')
  const { start, moment } = makeOf('sale')
  const { period } = moment()
  const said = defaultsIn('src/addons/consecutive/options.ts', 'ConsecutiveOptions')
  expect(said).toMatchObject({ wait })
  expect([start, said.limits]).toEqual([1, 'from 1, without an end'])
  expect([period, said.period]).toEqual(['', 'the series has no periods'])
})

test('docs/server-reference.md has each limit with its default', () => {
  const page = readFileSync(new URL('docs/server-reference.md', ROOT), 'utf8')
  const [table] = /(?<=\| limit \| default .*\n.*\n)(?:\|.*\n)+/.exec(page)!
  const said = Object.fromEntries(
    [...table.matchAll(/^\| `(\w+)` \| ([\d,^−]+)/gm)].map(([, name, value]) => [name, value]),
  )
  const values = { ...ledgerLimits.parse({}), ...handlerLimits.parse({}) }
  const shown = (value: number) =>
    value === Number.MAX_SAFE_INTEGER ? '2^53−1' : value.toLocaleString('en')
  expect(said).toEqual(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shown(value)])),
  )
})
