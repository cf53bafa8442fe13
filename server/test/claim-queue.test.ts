/** Claims that share a commit: each gets its own outcome. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { claimQueue, type FailedClaim } from '../src/http/claim-queue.js'
import { keyText } from '../src/ledger/collections.js'
import type { ClaimOutcome, ClaimRequest } from '../src/ledger/ledger.js'
import { LedgerUnavailable, RowLocked } from '../src/ledger/ledger-errors.js'

const claimOf = (collection: string): ClaimRequest => ({
  database: 'Shop',
  collection,
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
})
const collectionsOf = (claims: readonly ClaimRequest[]) =>
  claims.map(({ collection }) => collection)

/**
 * A ledger whose commits end when the test says so. An outcome carries its claim's collection, as
 * its token.
 */
function slowLedger() {
  const commits: { collections: string[]; end: (error?: Error) => void }[] = []
  const claim = (claims: readonly ClaimRequest[]) =>
    new Promise<ClaimOutcome[]>((resolve, reject) => {
      const outcomes = claims.map(({ collection }) => ({
        grant: { low: 1, high: 1, count: 1, serverTag: 'A', at: 0, token: collection },
        isRepeat: false,
        results: [],
      }))
      commits.push({
        collections: collectionsOf(claims),
        end: (error) => (error ? reject(error) : resolve(outcomes)),
      })
    })
  return { commits, claim }
}

const sizeOf = ({ shown = [] }: ClaimRequest) => 1 + shown.length

/** A queue in front of such a ledger. */
function newQueue({ queueOf = (_: ClaimRequest): string => '' } = {}) {
  const { commits, claim } = slowLedger()
  const sizes: number[] = []
  const onCommit = (claims: number) => void sizes.push(claims)
  return {
    commits,
    sizes,
    queue: claimQueue({ commit: claim, queueOf, rowOf: keyText, sizeOf, onCommit }),
  }
}

const tokens = (outcomes: (ClaimOutcome | FailedClaim)[]) =>
  outcomes.map((outcome) =>
    'grant' in outcome ? outcome.grant.token : 'failure' in outcome && outcome.failure,
  )
/** The queue takes a turn of the event loop before each commit; it begins with this one. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

test('claims that arrive together or during a commit share one; each has its outcome', async () => {
  const { commits, sizes, queue } = newQueue()
  const first = [queue.add([claimOf('a')]), queue.add([claimOf('b'), claimOf('c')])]
  await turn()
  const second = [queue.add([claimOf('d')]), queue.add([claimOf('e'), claimOf('a')])]
  await turn()
  expect(commits.map(({ collections }) => collections)).toEqual([['a', 'b', 'c']])
  commits[0]!.end()
  expect((await Promise.all(first)).map(tokens)).toEqual([['a'], ['b', 'c']])
  await turn()
  expect(commits[1]!.collections).toEqual(['d', 'e', 'a'])
  commits[1]!.end()
  expect((await Promise.all(second)).map(tokens)).toEqual([['d'], ['e', 'a']])
  expect(sizes).toEqual([3, 3])
})

test('a commit that fails is the outcome of its own claims only', async () => {
  const { commits, sizes, queue } = newQueue()
  const failing = queue.add([claimOf('a')])
  await turn()
  const next = queue.add([claimOf('b')])
  commits[0]!.end(new Error('gone'))
  expect(tokens(await failing)).toEqual([new Error('gone')])
  expect(sizes).toEqual([])
  await turn()
  commits[1]!.end()
  expect(tokens(await next)).toEqual(['b'])
  const later = queue.add([claimOf('c')])
  await turn()
  commits[2]!.end()
  expect(tokens(await later)).toEqual(['c'])
})

test('a commit holds at most 500 claims, and at least one request', async () => {
  const { commits, queue } = newQueue()
  const all = [
    queue.add(Array(700).fill(claimOf('a'))),
    ...Array.from({ length: 600 }, () => queue.add([claimOf('b')])),
  ]
  for (const size of [700, 500, 100]) {
    await turn()
    expect(commits.at(-1)!.collections).toHaveLength(size)
    commits.at(-1)!.end()
  }
  await Promise.all(all)
})

test('tokens that claims show count for the size of a commit', async () => {
  const { commits, queue } = newQueue()
  const shown = Array(100).fill({ token: 't', next: 1 })
  const all = Array.from({ length: 10 }, () => queue.add([{ ...claimOf('a'), shown }]))
  for (const size of [4, 4, 2]) {
    await turn()
    expect(commits.at(-1)!.collections).toHaveLength(size)
    commits.at(-1)!.end()
  }
  await Promise.all(all)
})

test('claims of another queue do not wait for a commit, nor fail with it', async () => {
  const { commits, queue } = newQueue({
    queueOf: ({ collection }) => (collection === 'bound' ? collection : ''),
  })
  const all = queue.add([claimOf('a'), claimOf('bound'), claimOf('b')])
  await turn()
  expect(commits.map(({ collections }) => collections)).toEqual([['a', 'b'], ['bound']])
  commits[1]!.end(new Error('locked'))
  const later = queue.add([claimOf('bound')])
  await turn()
  commits[2]!.end()
  expect(tokens(await later)).toEqual(['bound'])
  commits[0]!.end()
  expect(tokens(await all)).toEqual(['a', new Error('locked'), 'b'])
})

test('of a name that nobody waits for, nothing is kept: names come from requests', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const queue = claimQueue({
    commit: async (claims: readonly ClaimRequest[]) => [...claims],
    queueOf: ({ collection }) => collection,
    rowOf: keyText,
    sizeOf,
    onCommit() {},
  })
  const names = 20_000
  const ask = async (round: number) => {
    const claims = Array.from({ length: names }, (_, i) => claimOf(`${round}.${i}`.padEnd(500)))
    await queue.add(claims)
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = await ask(1)
  expect((await ask(2)) - before).toBeLessThan(names * 250)
})

test('a claim that cannot be granted fails alone', async () => {
  const { commits, queue } = newQueue()
  const mistake = new TypeError('of one claim')
  const all = [queue.add([claimOf('a'), claimOf('bad')]), queue.add([claimOf('bad'), claimOf('b')])]
  for (let next = 0; next < 6; next++) {
    await turn()
    const { collections, end } = commits[next]!
    end(collections.includes('bad') ? mistake : undefined)
  }
  expect((await Promise.all(all)).map(tokens)).toEqual([
    ['a', mistake],
    [mistake, 'b'],
  ])
  expect(commits.map(({ collections }) => collections.join())).toEqual([
    'a,bad,bad,b',
    'a',
    'bad,bad',
    'b',
    'bad',
    'bad',
  ])
})

test('a locked row fails the claims of that row', async () => {
  const { commits, queue } = newQueue()
  const locked = new RowLocked('locked')
  const all = queue.add([claimOf('a'), claimOf('locked'), claimOf('locked')])
  for (let next = 0; next < 3; next++) {
    await turn()
    const { collections, end } = commits[next]!
    end(collections.includes('locked') ? locked : undefined)
  }
  expect(tokens(await all)).toEqual(['a', locked, locked])
})

test('an outage is the outcome of all claims at once', async () => {
  const { commits, queue } = newQueue()
  const all = queue.add([claimOf('a'), claimOf('b')])
  await turn()
  const gone = new LedgerUnavailable('gone')
  commits[0]!.end(gone)
  expect(tokens(await all)).toEqual([gone, gone])
  expect(commits).toHaveLength(1)
})
