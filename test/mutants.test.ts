/** Which mutants `npm run mutate` makes of the sources, and what it takes for noticed. */
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { isCrash } from '../scripts/crashes.js'
import { SOURCES } from '../scripts/judges.js'
import { drawn, mutantsIn, mutantsOf } from '../scripts/mutants.js'
import { PROBE, withProbes } from '../scripts/probes.js'
import { survivors } from '../scripts/survivors.js'

const SNIPPET = `
const LIMIT = 3 * 10
export const isLow = (left: number) => left <= LIMIT
class Lease {
  async take(count: number, log: Log): Promise<number | undefined> {
    if (!this.isOpen) return undefined
    if (count < 1 || this.next + count > this.to + 1) throw none(count)
    await this.save(this.next, count, () => {})
    if (this.next === count) {
      log.taken ??= await count
    }
    const word: 'a' | 'b' = log.isShort ? 'a' : 'b'
    return this.next - (log.size ?? 0)
  }
}`

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const namesOf = (source: string) => mutantsOf('a.ts', source).map(({ name }) => name)

test('survivors.md names only what the code has', () => {
  const made = new Set(SOURCES.flatMap((source) => mutantsIn(ROOT, source)).map(({ name }) => name))
  expect([...survivors(ROOT).keys()].filter((name) => !made.has(name))).toEqual([])
})

test('the mutants of a snippet', () => {
  expect(namesOf(SNIPPET)).toEqual([
    'a.ts isLow: left <= LIMIT → left < LIMIT',
    'a.ts isLow: left <= LIMIT → left >= LIMIT',
    'a.ts take: if (!this.isOpen) return undefined → {}',
    'a.ts take: !this.isOpen → this.isOpen',
    'a.ts take: if (count < 1 || this.next + count > this.to + 1) throw none(count) → {}',
    'a.ts take: count < 1 || this.next + count > this.to + 1 → count < 1',
    'a.ts take: count < 1 || this.next + count > this.to + 1 → this.next + count > this.to + 1',
    'a.ts take: count < 1 → count <= 1',
    'a.ts take: count < 1 → count > 1',
    'a.ts take: count < 1 → count < 0',
    'a.ts take: this.next + count > this.to + 1 → this.next + count >= this.to + 1',
    'a.ts take: this.next + count > this.to + 1 → this.next + count < this.to + 1',
    'a.ts take: this.to + 1 → this.to + 2',
    'a.ts take: this.to + 1 → this.to + 0',
    'a.ts take: await this.save(this.next, count, () => {}) → {}',
    'a.ts take: await this.save(this.next, count, () => {}) → ' +
      'this.save(this.next, count, () => {})',
    'a.ts take: this.next, count → count, this.next',
    'a.ts take: this.next === count → this.next !== count',
    'a.ts take: log.taken ??= await count → {}',
    'a.ts take: await count → count',
    'a.ts take: log.isShort → !(log.isShort)',
  ])
})

test('code that stands there twice has two names, which outlive an edit elsewhere', () => {
  const names = ['a.ts x: a < b → a <= b', 'a.ts x: a < b → a > b']
  const twice = [...names, ...names.map((name) => `${name} (2)`)]
  expect(namesOf('const x = () => [a < b, a < b]')).toEqual(expect.arrayContaining(twice))
  expect(namesOf('y()\n\nconst x = () =>\n [a < b, a < b]')).toEqual(expect.arrayContaining(twice))
})

test('a seed draws the same ones, also when there are others to draw from', () => {
  const mutants = mutantsOf('a.ts', SNIPPET)
  const few = drawn(mutants, 5, 1)
  expect(drawn(mutants.toReversed(), 5, 1)).toEqual(few)
  expect(drawn(mutants, 5, 2)).not.toEqual(few)
  const all = [...mutants, ...mutantsOf('b.ts', SNIPPET)]
  expect(
    drawn(all, all.length, 1)
      .filter(({ file }) => file === 'a.ts')
      .slice(0, 5),
  ).toEqual(few)
})

test('probes tell which mutants a call comes by, and change nothing else', () => {
  const source = `(a, log) => {
    if (!a) return 'none'
    log.push(a)
    a < 2 && log.push('small')
    return 'some'
  }`
  const mutants = mutantsOf('a.ts', source)
  const reached = new Set<number>()
  vi.stubGlobal(PROBE, (number: number) => reached.add(number))
  // biome-ignore lint/security/noGlobalEval: the code stands above
  const probed = eval(withProbes(source, new Map(mutants.entries())))
  const log: unknown[] = []
  const names = () => [...reached].sort((a, b) => a - b).map((i) => mutants[i]!.name.slice(6))
  const first = ["if (!a) return 'none' → {}", '!a → a']
  expect([probed(0, log), log, names()]).toEqual(['none', [], first])
  expect([probed(3, log), log]).toEqual(['some', [3]])
  expect(names()).toEqual([
    ...first,
    'log.push(a) → {}',
    "a < 2 && log.push('small') → a < 2",
    "a < 2 && log.push('small') → log.push('small')",
    'a < 2 → a <= 2',
    'a < 2 → a > 2',
    'a < 2 → a < 1',
  ])
})

describe('a crash is', () => {
  test.each([
    ['a name that does not exist', new ReferenceError('a is not defined')],
    ['what is nothing', new TypeError("Cannot read properties of undefined (reading 'a')")],
    ['the cause of an assertion', new Error('rejected', { cause: new TypeError('a.b is no') })],
    ['named in an assertion', new Error('promise rejected "TypeError: a" instead of resolving')],
    ['named by its words', new Error("expected error 'x' but got 'a is not a function'")],
  ])('%s', (_, error) => expect(isCrash(error)).toBe(true))

  test.each([
    ['an assertion', new Error('expected 1 to be 2')],
    ['an error that the code throws', new RangeError('The ids of hi 7 pass 2^53−1.')],
    ['an assertion with a cause', new Error('failed', { cause: new Error('expected 1 to be 2') })],
  ])('not %s', (_, error) => expect(isCrash(error)).toBe(false))
})
