/**
 * This server answers as a RavenDB did, whose answers are written down in
 * wire/ravendb-7.1.5.txt, but for the differences that docs/ravendb.md lists. The recording is
 * compared with a RavenDB itself in interop/wire.test.ts.
 */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { newHandler, testHere } from './handlers.js'
import { expectedOf, stale } from './wire/compare.js'
import { DIFFERENCES } from './wire/differences.js'
import { type Exchange, play } from './wire/exchange.js'
import { EXCHANGES } from './wire/exchanges.js'
import { fromText } from './wire/transcript.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const raven = fromText(read('wire/ravendb-7.1.5.txt'))
const expected = expectedOf(raven)

test('every exchange is recorded, and nothing else', () => {
  expect([...raven.keys()]).toEqual(EXCHANGES.map(({ title }) => title))
})

async function answersAsRecorded(exchange: Exchange): Promise<void> {
  const { handler } = await newHandler({ databases: ['Shop'] })
  const answers = await play(exchange, {
    database: 'Shop',
    send: (path, init) => handler(new Request(`http://ids.test${path}`, init)),
  })
  expect(answers).toEqual(expected.get(exchange.title))
}

/** workerd drops them. */
const hasEmptyHeader = ({ requests }: Exchange): boolean =>
  requests.some(
    (each) => typeof each !== 'string' && Object.values(each.headers ?? {}).includes(''),
  )

test.each(EXCHANGES.filter((each) => !hasEmptyHeader(each)))('$title', answersAsRecorded)
testHere.each(EXCHANGES.filter(hasEmptyHeader))('$title', answersAsRecorded)

describe('differences', () => {
  test('each of them differs', () => {
    expect(stale(raven)).toEqual([])
  })

  let section: string
  beforeAll(() => {
    const [, text] = read('../../docs/ravendb.md').split('\n## Differences from RavenDB\n')
    section = text!.split('\n## ')[0]!
  })

  test('the documentation lists these, in this order', () => {
    const items = [...section.matchAll(/^\* \*\*(.+?)\.\*\*/gms)].map(([, title]) =>
      title!.replace(/\s+/g, ' '),
    )
    expect(items).toEqual(DIFFERENCES.map(({ title }) => title))
  })
})
