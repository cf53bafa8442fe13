/** Claims that share a commit: each gets its own outcome, and a full queue refuses. */
import { expect, test } from 'vitest'
import { combineClaims, QueueFull } from '../src/http/claim-queue.js'
import type { ClaimOutcome, ClaimRequest } from '../src/ledger/ledger.js'

const wish = (tag: string): ClaimRequest => ({
  database: 'Shop',
  collection: tag,
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
})
const tagsOf = (claims: readonly ClaimRequest[]) => claims.map(({ collection: tag }) => tag)

/**
 * A ledger whose commits end when the test says so. An outcome carries its claim's tag, as its
 * token.
 */
function slowLedger() {
  const commits: { tags: string[]; end: (error?: Error) => void }[] = []
  const claim = (claims: readonly ClaimRequest[]) =>
    new Promise<ClaimOutcome[]>((resolve, reject) => {
      const outcomes = claims.map(({ collection: tag }) => ({
        grant: { low: 1, high: 1, count: 1, serverTag: 'A', at: 0, token: tag },
        isRepeat: false,
      }))
      commits.push({
        tags: tagsOf(claims),
        end: (error) => (error ? reject(error) : resolve(outcomes)),
      })
    })
  return { commits, claim }
}

const tokens = (outcomes: ClaimOutcome[]) =>
  outcomes.map((outcome) => 'grant' in outcome && outcome.grant.token)
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('claims that arrive together, or during a commit, share one; each request gets its own outcomes', async () => {
  const { commits, claim } = slowLedger()
  const batches: number[] = []
  const queue = combineClaims(claim, 100, (count) => batches.push(count))
  const first = [queue([wish('a')]), queue([wish('b'), wish('c')])]
  await turn()
  const second = [queue([wish('d')]), queue([wish('e'), wish('a')])]
  await turn()
  expect(commits.map(({ tags }) => tags)).toEqual([['a', 'b', 'c']])
  commits[0]!.end()
  expect((await Promise.all(first)).map(tokens)).toEqual([['a'], ['b', 'c']])
  await turn()
  expect(commits[1]!.tags).toEqual(['d', 'e', 'a'])
  commits[1]!.end()
  expect((await Promise.all(second)).map(tokens)).toEqual([['d'], ['e', 'a']])
  expect(batches).toEqual([3, 3])
})

test('a commit that fails fails its claims only', async () => {
  const { commits, claim } = slowLedger()
  const queue = combineClaims(claim, 100, () => {})
  const failing = queue([wish('a')])
  await turn()
  const next = queue([wish('b')])
  commits[0]!.end(new Error('gone'))
  await expect(failing).rejects.toThrow('gone')
  await turn()
  commits[1]!.end()
  expect(tokens(await next)).toEqual(['b'])
  const later = queue([wish('c')])
  await turn()
  commits[2]!.end()
  expect(tokens(await later)).toEqual(['c'])
})

test('a full queue refuses, and takes claims again when it has room', async () => {
  const { commits, claim } = slowLedger()
  const queue = combineClaims(claim, 3, () => {})
  const all = [queue([wish('a')])]
  await turn()
  all.push(queue([wish('b'), wish('c')]))
  await expect(queue([wish('d'), wish('e')])).rejects.toThrow(QueueFull)
  all.push(queue([wish('f')]))
  commits[0]!.end()
  await turn()
  expect(commits[1]!.tags).toEqual(['b', 'c', 'f'])
  all.push(queue([wish('g'), wish('h'), wish('i')]))
  commits[1]!.end()
  await turn()
  commits[2]!.end()
  expect((await Promise.all(all)).flatMap(tokens)).toEqual(['a', 'b', 'c', 'f', 'g', 'h', 'i'])
})

test('a request with more claims than may wait is taken when nothing waits', async () => {
  const { commits, claim } = slowLedger()
  const queue = combineClaims(claim, 1, () => {})
  const several = queue([wish('a'), wish('b')])
  await turn()
  commits[0]!.end()
  expect(tokens(await several)).toEqual(['a', 'b'])
})

test('a commit holds at most 500 claims, and at least one request', async () => {
  const { commits, claim } = slowLedger()
  const queue = combineClaims(claim, 10_000, () => {})
  const all = [
    queue(Array(700).fill(wish('a'))),
    ...Array.from({ length: 600 }, () => queue([wish('b')])),
  ]
  for (const size of [700, 500, 100]) {
    await turn()
    expect(commits.at(-1)!.tags).toHaveLength(size)
    commits.at(-1)!.end()
  }
  await Promise.all(all)
})
