/**
 * The connection to the owner: a worker that dies or hangs is replaced by another one, and a worker
 * that does not start, or a second one that is lost, by the owner in the page.
 */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { OwnerLink } from '../../src/client/owner-link.js'
import { HiloError } from '../../src/core/errors.js'
import { VERSION } from '../../src/core/version.js'
import type { Owner } from '../../src/device/contract.js'
import { createOwner } from '../../src/worker/owner.js'
import { eventually } from '../support/eventually.js'
import { FakeWorker } from '../support/worker.js'
import { config, exchangeOf, FakeWorld, flush, must, target } from '../support/world.js'

const links: OwnerLink[] = []
const workers: FakeWorker[] = []

afterEach(() => {
  for (const link of links.splice(0)) link.end(new HiloError('closed', 'Over.'))
  for (const worker of workers.splice(0)) worker.terminate()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function prerender() {
  const page = Object.assign(new EventTarget(), { prerendering: true })
  vi.stubGlobal('document', page)
  return () => {
    page.prerendering = false
    page.dispatchEvent(new Event('prerenderingchange'))
  }
}

/** A link to a worker, with the same device at hand in the page. */
function linkTo(spawn: ((owner: Owner) => FakeWorker) | undefined, world = new FakeWorld()) {
  const ownerHere = vi.fn(async () => createOwner(world))
  const stored = vi.fn()
  const inPage = vi.fn()
  const link = new OwnerLink({
    spawn:
      spawn &&
      (() => {
        const worker = spawn(createOwner(world))
        workers.push(worker)
        return worker as unknown as Worker
      }),
    ownerHere,
    config,
    inPage,
    callbacks: {
      headers: async () => ({ headers: {} }),
      changed() {},
      stored,
      parkExcess: async () => {},
    },
  })
  links.push(link)
  return { link, world, ownerHere, stored, inPage }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

const flushes = async (count: number): Promise<undefined> => {
  for (let i = 0; i < count; i++) await flush()
}

const claim = (link: OwnerLink) => link.call('claim', [target, 1]).then(must)

describe('the connection to the owner', () => {
  test('waits in a prerendered page for its user, and then has its worker', async () => {
    const activate = prerender()
    const { link, ownerHere } = linkTo((owner) => new FakeWorker(owner))
    const claimed = claim(link)
    await flushes(20)
    expect(workers).toHaveLength(0)
    activate()
    await claimed
    expect(workers).toHaveLength(1)
    expect(ownerHere).not.toHaveBeenCalled()
  })

  test('of a prerendered page can be ended before the user comes', async () => {
    const activate = prerender()
    const { link } = linkTo((owner) => new FakeWorker(owner))
    const claimed = claim(link)
    link.end(new HiloError('closed', 'Over.'))
    await expect(claimed).rejects.toMatchObject({ code: 'closed' })
    activate()
    await flushes(20)
    expect(workers).toHaveLength(0)
  })

  test('goes to the worker as long as that answers', async () => {
    const { link, ownerHere } = linkTo((owner) => new FakeWorker(owner))
    expect((await claim(link)).view.free).toBe(32)
    expect(ownerHere).not.toHaveBeenCalled()
  })

  test('leads into the page where there is no worker', async () => {
    const { link, ownerHere } = linkTo(undefined)
    expect((await claim(link)).view.free).toBe(32)
    expect(ownerHere).toHaveBeenCalledOnce()
  })

  test('leads into the page when the worker cannot be made', async () => {
    const { link } = linkTo(() => {
      throw new DOMException('Refused by the content security policy', 'SecurityError')
    })
    expect((await claim(link)).view.free).toBe(32)
  })

  test.each(['error', 'messageerror'])(
    'leads into the page when the worker ends with %s, and the call is made again there',
    async (type) => {
      // Time stands still, so that it is not the deadline that helps.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const { link, ownerHere } = linkTo(() => new FakeWorker())
      const claiming = claim(link)
      await Promise.resolve()
      workers[0]!.dispatchEvent(new Event(type))
      const outcome = await Promise.race([claiming, flushes(20)])
      expect(outcome?.view.free).toBe(32)
      expect(workers[0]!.isTerminated).toBe(true)
      expect(ownerHere).toHaveBeenCalledOnce()
    },
  )

  test('leads into the page when the worker does not answer in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { link } = linkTo(() => new FakeWorker())
    const claiming = claim(link)
    await vi.advanceTimersByTimeAsync(7_999)
    expect(workers[0]!.isTerminated).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect((await claiming).view.free).toBe(32)
    expect(workers[0]!.isTerminated).toBe(true)
  })

  test('keeps a worker that stood still with its page, in the back/forward cache', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { link } = linkTo(() => new FakeWorker())
    claim(link).catch(() => {})
    await Promise.resolve()
    // When the page goes on, the timer is long due.
    await vi.advanceTimersToNextTimerAsync()
    expect(workers[0]!.isTerminated).toBe(false)
  })

  test('waits for a call that takes long while the worker says that it runs', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let answer = () => {}
    const { link, ownerHere } = linkTo(
      (owner) =>
        new FakeWorker({
          ...owner,
          reserve: async (...args) => {
            await new Promise<void>((resolve) => {
              answer = resolve
            })
            return owner.reserve(...args)
          },
        }),
    )
    const reserving = link.call('reserve', ['call', [{ target, count: 20_000 }]])
    for (let second = 0; second < 60; second++) {
      await vi.advanceTimersByTimeAsync(1_000)
      await flushes(3)
    }
    expect(workers[0]!.isTerminated).toBe(false)
    answer()
    must((await reserving)[0]!)
    expect(ownerHere).not.toHaveBeenCalled()
  })

  test('sends all calls that hung to one owner in the page, and those that follow', async () => {
    const { link, ownerHere, world } = linkTo(() => new FakeWorker())
    const calls = [
      claim(link),
      claim(link),
      link.call('exchange', [target, exchangeOf({ want: 1 })]).then(must),
    ]
    await Promise.resolve()
    workers[0]!.fail()
    await Promise.all(calls)
    await claim(link)
    expect(ownerHere).toHaveBeenCalledOnce()
    expect(world.source.claims).toHaveLength(1)
  })

  test('a call whose answer was lost with the worker takes nothing twice', async () => {
    const world = new FakeWorld()
    const { link } = linkTo((owner) => {
      const worker = new FakeWorker({
        ...owner,
        exchange: async (...args) => {
          await owner.exchange(...args)
          worker.fail()
          return new Promise(() => {})
        },
      })
      return worker
    }, world)
    await claim(link)
    const { leases } = must(await link.call('exchange', [target, exchangeOf({ want: 4 })]))
    expect(leases.map(({ range: { from, to } }) => [from, to])).toEqual([[1, 4]])
    expect((await world.stored()).leases).toHaveLength(1)
  })

  test('leads to another worker when the first one dies, and then into the page', async () => {
    const { link, ownerHere } = linkTo((owner) => new FakeWorker(owner))
    await claim(link)
    workers[0]!.fail()
    await claim(link)
    expect([workers.length, ownerHere.mock.calls.length]).toEqual([2, 0])
    workers[1]!.fail()
    await claim(link)
    expect([workers.length, ownerHere.mock.calls.length]).toEqual([2, 1])
  })

  test('leads to a worker again where the code for the page cannot be loaded', async () => {
    const { link, ownerHere } = linkTo((owner) => new FakeWorker(owner))
    ownerHere.mockRejectedValue(new TypeError('Failed to fetch dynamically imported module'))
    await claim(link)
    workers[0]!.fail()
    await claim(link)
    workers[1]!.fail()
    expect((await claim(link)).view.free).toBe(32)
    expect(workers).toHaveLength(3)
  })

  test('keeps the network switched off when the worker is replaced', async () => {
    const { link, world } = linkTo(() => new FakeWorker())
    link.setOnline(false)
    const claiming = link.call('claim', [target, 1])
    await Promise.resolve()
    workers[0]!.fail()
    expect(await claiming).toMatchObject({
      failure: { message: expect.stringContaining('goOnline') },
    })
    expect(world.source.claims).toEqual([])
  })

  test('goes on watching when the worker is replaced', async () => {
    const { link, stored } = linkTo(() => new FakeWorker())
    link.watch(true)
    const claiming = claim(link)
    await Promise.resolve()
    workers[0]!.fail()
    await claiming
    expect(stored).toHaveBeenCalled()
  })

  test('takes the views of an owner that replaces another one for newer', async () => {
    const { link } = linkTo((owner) => new FakeWorker(owner))
    const orders = async () => (await link.call('exchange', [target, exchangeOf({})])).view.order
    const before = [await orders(), await orders()]
    workers[0]!.fail()
    const after = [await orders(), await orders()]
    const all = [...before, ...after]
    expect(all).toEqual([...new Set(all)].sort((a, b) => a - b))
  })

  test('fails when the owner runs nowhere, says what to do, and is tried again', async () => {
    const { link, ownerHere } = linkTo(undefined)
    ownerHere.mockRejectedValueOnce(new TypeError('Failed to fetch dynamically imported module'))
    await expect(claim(link)).rejects.toMatchObject({
      code: 'server-unreachable',
      message: expect.stringContaining("'offline-hilo/worker'"),
    })
    vi.stubGlobal('document', {})
    ownerHere.mockRejectedValueOnce(new TypeError('Refused to connect'))
    await expect(claim(link)).rejects.toMatchObject({
      code: 'server-unreachable',
      message: expect.stringContaining('content security policy'),
    })
    vi.stubGlobal('navigator', { onLine: false })
    ownerHere.mockRejectedValueOnce(new TypeError('Failed to fetch'))
    const offline = await claim(link).catch((error) => error)
    expect(offline.message).toMatch(/no network.*service worker has to store/)
    expect(offline.message).not.toMatch(/policy|storage/)
    vi.unstubAllGlobals()
    expect((await claim(link)).view.free).toBe(32)
  })

  test('ends with close: the worker is terminated', async () => {
    const { link } = linkTo((owner) => new FakeWorker(owner))
    await claim(link)
    link.end(new HiloError('closed', 'Over.'))
    await eventually(() => expect(workers[0]!.isTerminated).toBe(true))
  })

  test('keeps nothing of a call that was answered, however many there are', async () => {
    const { link } = linkTo((owner) => new FakeWorker(owner))
    const answers: WeakRef<object>[] = []
    for (let i = 0; i < 20; i++) answers.push(new WeakRef(await claim(link)))
    await flushes(3)
    collectGarbage()
    expect(answers.filter((answer) => answer.deref()).length).toBeLessThan(5)
    await claim(link)
  })

  test('leads into the page when the worker refuses to begin, which is then ended', async () => {
    const open = () => {
      throw new TypeError('It is of another version.')
    }
    const { link } = linkTo((owner) => new FakeWorker({ ...owner, open }))
    expect((await claim(link)).view.free).toBe(32)
    expect(workers[0]!.isTerminated).toBe(true)
  })

  test('does without an owner of another version in the page, and leaves none open', async () => {
    const { link, ownerHere, world } = linkTo(undefined)
    const close = vi.fn()
    ownerHere.mockImplementation(async () => ({
      ...createOwner(world),
      open: () => '0.0.1',
      close,
    }))
    for (const calls of [1, 2]) {
      await expect(claim(link)).rejects.toMatchObject({
        code: 'outdated',
        message: expect.stringMatching(/0\.0\.1.*[Rr]eload/),
      })
      expect(close).toHaveBeenCalledTimes(calls)
    }
  })

  test('does without a worker file of another version, and names it', async () => {
    const { link, ownerHere, inPage } = linkTo(
      (owner) =>
        new FakeWorker({
          ...owner,
          open(...args) {
            owner.open(...args)
            return '0.0.1'
          },
        }),
    )
    expect((await claim(link)).view.free).toBe(32)
    expect(ownerHere).toHaveBeenCalledOnce()
    expect(workers[0]!.isTerminated).toBe(true)
    expect(inPage.mock.calls).toMatchObject([[{ message: expect.stringContaining('0.0.1') }]])
  })
})

test('page and worker say the version of the package', () => {
  expect(VERSION).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version)
})
