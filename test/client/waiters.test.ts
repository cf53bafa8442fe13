/** Callers that wait for numbers: served in turn and whole, and never once they gave up. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Waiters } from '../../src/client/waiters.js'
import { HiloError } from '../../src/core/errors.js'

const patient = { timeout: Number.POSITIVE_INFINITY }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('callers that wait', () => {
  test('may be more than a call takes arguments', () => {
    const waiters = new Waiters(() => {})
    for (let count = 1; count <= 200_000; count++) waiters.keep(count, patient)
    expect(waiters.total).toBe(200_000)
  })

  test('are served in turn, each whole, and nobody overtakes', async () => {
    const waiters = new Waiters(() => {})
    let held = 0
    const served: string[] = []
    const take = (name: string, count: number) => () => {
      held -= count
      served.push(name)
    }
    const all = [
      waiters.add(2, take('a', 2), patient),
      waiters.add(5, take('b', 5), patient),
      waiters.add(1, take('c', 1), patient),
    ]
    expect(waiters.total).toBe(8)
    held = 4
    waiters.serve(() => held)
    expect(served).toEqual(['a'])
    held = 6
    waiters.serve(() => held)
    await Promise.all(all)
    expect(served).toEqual(['a', 'b', 'c'])
    expect(held).toBe(0)
    expect(waiters.isEmpty).toBe(true)
  })

  test('in a page that is prerendered have all their time once it is shown', async () => {
    const page = Object.assign(new EventTarget(), { prerendering: true })
    vi.stubGlobal('document', page)
    const waiters = new Waiters(() => {})
    const refused = vi.fn()
    waiters.add(1, () => {}, { timeout: 500 }).catch(refused)
    await vi.advanceTimersByTimeAsync(18_000)
    waiters.add(1, () => {}, { timeout: 700 }).catch(refused)
    page.prerendering = false
    page.dispatchEvent(new Event('prerenderingchange'))
    await vi.advanceTimersByTimeAsync(499)
    expect(refused).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(refused).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(200)
    expect(refused).toHaveBeenCalledTimes(2)
  })

  test('and give up are never served', async () => {
    const waiters = new Waiters(() => {})
    const take = vi.fn()
    const given = expect(waiters.add(1, take, { timeout: 500 })).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('500 ms'),
    })
    await vi.advanceTimersByTimeAsync(500)
    await given
    waiters.serve(() => 100)
    expect(take).not.toHaveBeenCalled()
  })

  test('leave no timer behind when the last one with a timeout has left', async () => {
    const waiters = new Waiters(() => {})
    const none = () => new HiloError('exhausted', 'Nothing left.')
    waiters.keep(1, patient).catch(() => {})
    const refused = [waiters.add(1, () => {}, { timeout: 500 }), waiters.keep(1, { timeout: 900 })]
    expect(vi.getTimerCount()).toBe(1)
    waiters.refuse(none, 'with-timeout')
    expect(await Promise.allSettled(refused)).toMatchObject([
      { reason: none() },
      { reason: none() },
    ])
    expect(waiters.isEmpty).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('make room for those behind them when they give up', async () => {
    const waiters = new Waiters(() => {})
    waiters.add(100, () => {}, { timeout: 500 }).catch(() => {})
    const next = waiters.add(1, () => 'served', patient)
    await vi.advanceTimersByTimeAsync(500)
    waiters.serve(() => 1)
    expect(await next).toBe('served')
  })

  test('may be cancelled by their signal, with its reason, before or while they wait', async () => {
    const waiters = new Waiters(() => {})
    const off = new AbortController()
    const waiting = expect(
      waiters.add(1, () => {}, { ...patient, signal: off.signal }),
    ).rejects.toMatchObject({
      code: 'aborted',
      cause: 'enough',
    })
    off.abort('enough')
    await waiting
    await expect(
      waiters.add(1, () => {}, { ...patient, signal: off.signal }),
    ).rejects.toMatchObject({ code: 'aborted' })
    expect(waiters.isEmpty).toBe(true)
  })

  test('leave nothing behind on a signal that lives longer', async () => {
    const waiters = new Waiters(() => {})
    const { signal } = new AbortController()
    const remove = vi.spyOn(signal, 'removeEventListener')
    const served = waiters.add(1, () => {}, { timeout: 500, signal })
    waiters.serve(() => 1)
    await served
    expect(remove).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('hear of it when what they take throws', async () => {
    const waiters = new Waiters(() => {})
    const bang = waiters.add(
      1,
      () => {
        throw new Error('bang')
      },
      patient,
    )
    waiters.serve(() => 1)
    await expect(bang).rejects.toThrow('bang')
  })

  test('without a timeout stay when the others are refused, and go when all are', async () => {
    const waiters = new Waiters(() => {})
    const error = new HiloError('exhausted', 'Nothing left.')
    const refused = expect(waiters.add(1, () => {}, { timeout: 500 })).rejects.toBe(error)
    const waiting = waiters.add(1, () => {}, patient)
    waiters.refuse(() => error, 'with-timeout')
    await refused
    expect(waiters.total).toBe(1)
    waiters.refuse(() => error, 'all')
    await expect(waiting).rejects.toBe(error)
  })

  test('are told how many they asked for when they are refused', async () => {
    const waiters = new Waiters(() => {})
    const refused = expect(waiters.add(7, () => {}, patient)).rejects.toThrow('7 were too many')
    waiters.refuse((count) => new HiloError('exhausted', `${count} were too many`), 'all')
    await refused
  })

  test('behind a larger one are served when the server gives none', async () => {
    const waiters = new Waiters(() => {})
    let held = 3
    const take = (count: number) => () => {
      held -= count
    }
    waiters.add(1_000, take(1_000), patient).catch(() => {})
    const [second, third] = [waiters.add(2, take(2), patient), waiters.add(2, take(2), patient)]
    third.catch(() => {})
    waiters.serve(() => held)
    expect(held).toBe(3)
    waiters.serve(() => held, true)
    await second
    expect(held).toBe(1)
    expect(waiters.total).toBe(1_002)
  })

  test('who only want numbers to be held hold up nobody', async () => {
    const waiters = new Waiters(() => {})
    let held = 10
    const kept = waiters.keep(10, patient)
    const taken = waiters.add(1, () => held--, patient)
    expect(waiters.total).toBe(11)
    waiters.serve(() => held)
    await taken
    expect(waiters.isEmpty).toBe(false)
    held = 10
    waiters.serve(() => held)
    await kept
  })

  test('share one timer, and each is late in its own time', async () => {
    const waiters = new Waiters(() => {})
    const late: number[] = []
    for (const timeout of [300, 100, 200])
      waiters.add(1, () => {}, { timeout }).catch(() => late.push(timeout))
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(150)
    expect(late).toEqual([100])
    await vi.advanceTimersByTimeAsync(150)
    expect(late).toEqual([100, 200, 300])
    expect(vi.getTimerCount()).toBe(0)
  })
})
