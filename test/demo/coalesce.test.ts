/** What the desk draws anew: once for many calls, and always once more after the last. */
import { expect, test } from 'vitest'
import { coalesce } from '../../demo/coalesce.js'

test.each(Array.from({ length: 12 }, (_, steps) => steps))(
  'a call that comes %i steps after another is followed by a run',
  async (steps) => {
    let made = 0
    let seen = 0
    const look = coalesce(async () => {
      seen = made
    })
    look()
    for (let step = 0; step < steps; step++) await undefined
    made = 1
    await look()
    expect(seen).toBe(1)
  },
)

test('calls that come while it runs are answered by one more run', async () => {
  const waiting: (() => void)[] = []
  const look = coalesce(() => new Promise((resolve) => waiting.push(resolve)))
  const calls = [look(), look(), look()]
  waiting[0]!()
  await expect.poll(() => waiting.length).toBe(2)
  waiting[1]!()
  await Promise.all(calls)
  expect(waiting).toHaveLength(2)
})

test('a run that fails is told to its callers, and the next call runs', async () => {
  let isBroken = true
  const look = coalesce(async () => {
    if (isBroken) throw new Error('closed')
  })
  await expect(look()).rejects.toThrow('closed')
  isBroken = false
  await look()
})
