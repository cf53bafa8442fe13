/** What runs in the background, and how it is stopped. Timers are the test's. */
import { expect, test } from 'vitest'
import { newBackground } from '../../src/device/background.js'
import { flush } from '../support/world.js'

function withTimers() {
  const due = new Set<() => void>()
  const background = newBackground((_, act) => {
    due.add(act)
    return () => due.delete(act)
  })
  return { background, due }
}

/** A promise that the test settles. */
function work() {
  let end = () => {}
  let fail = (_: Error) => {}
  const promise = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  return { promise, end, fail }
}

test('a stop waits for all that was begun, also for what that begins in its turn', async () => {
  const { background } = withTimers()
  const first = work()
  const second = work()
  background.run(first.promise.then(() => void background.run(second.promise)))
  let isStopped = false
  const stopping = background.stop().then(() => {
    isStopped = true
  })
  first.end()
  await flush()
  expect(isStopped).toBe(false)
  second.end()
  await stopping
})

test('work that fails tells who waits for it, and ends nothing else', async () => {
  const { background } = withTimers()
  const failing = work()
  const heard = background.run(failing.promise).catch((error: Error) => error.message)
  background.run(Promise.reject(new Error('nobody waits for this')))
  failing.fail(new Error('told'))
  await background.stop()
  expect(await heard).toBe('told')
})

test('a stop cancels every timer, and tells those that ask for it', async () => {
  const { background, due } = withTimers()
  const told: string[] = []
  const act = () => told.push('acted')
  const cancel = background.after(1, act, () => told.push('cancelled'))
  background.after(1, act, () => told.push('stopped'))
  background.after(1, act)
  cancel()
  expect(due.size).toBe(2)
  await background.stop()
  expect(due.size).toBe(0)
  background.after(1, act, () => told.push('too late'))
  expect(told).toEqual(['stopped', 'too late'])
  expect(background.signal.aborted).toBe(true)
})
