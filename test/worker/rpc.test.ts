/** Page and owner across a message channel, as between a page and its worker. */
import { expose, proxy, type Remote, releaseProxy, wrap } from 'comlink'
import { afterEach, describe, expect, test } from 'vitest'
import { fromFailure, HiloError } from '../../src/core/errors.js'
import type { DeviceView, Owner } from '../../src/device/contract.js'
import type { DeviceState } from '../../src/device/state.js'
import { createOwner } from '../../src/worker/owner.js'
import type { World } from '../../src/worker/world.js'
import { config, exchangeOf, FakeWorld, failureOf, must, target } from '../support/world.js'

const open: { owner: Remote<Owner>; ports: MessagePort[] }[] = []

afterEach(() => {
  for (const { owner, ports } of open.splice(0)) {
    owner[releaseProxy]()
    for (const port of ports) port.close()
  }
})

/** The owner behind a message channel, as behind a worker's. */
function ownerAcross(world: World, headers = async () => ({ headers: {} })) {
  const { port1, port2 } = new MessageChannel()
  expose(createOwner(world), port1)
  const owner = wrap<Owner>(port2)
  open.push({ owner, ports: [port1, port2] })
  const views: DeviceView[] = []
  const changes: [DeviceState, DeviceState][] = []
  let hear = () => {}
  const changed = new Promise<void>((resolve) => {
    hear = resolve
  })
  const callbacks = {
    headers,
    changed: (_: unknown, view: DeviceView) => {
      views.push(view)
      hear()
    },
    stored: (_: unknown, ...change: [DeviceState, DeviceState]) => void changes.push(change),
    parkExcess: async () => {},
  }
  return { owner, views, changed, changes, opened: owner.open(config, proxy(callbacks)) }
}

describe('across a message channel', () => {
  test('a page leases, settles and leases again', async () => {
    const world = new FakeWorld()
    const { owner } = ownerAcross(world)
    must(await owner.claim(target, 1))
    const first = must(await owner.exchange(target, exchangeOf({ want: 4 })))
    expect(first.leases).toMatchObject([
      { range: { from: 1, to: 4, prefix: 'orders/', serverTag: 'A', token: 'token0' } },
    ])
    const second = must(
      await owner.exchange(
        target,
        exchangeOf({ want: 4, notes: [{ lease: first.leases[0]!.id, next: 3 }] }),
      ),
    )
    expect(second.leases).toMatchObject([{ range: { from: 3, to: 6 } }])
  })

  test('the first call needs not wait until the owner is open', async () => {
    const { owner } = ownerAcross(new FakeWorld())
    expect(must(await owner.exchange(target, exchangeOf({ want: 1 }))).view.storage).toBe(
      'best-effort',
    )
  })

  test('a page observes', async () => {
    const { owner, changes } = ownerAcross(new FakeWorld())
    await owner.watch(true)
    must(await owner.claim(target, 1))
    expect(must(await owner.inspect(target))).toMatchObject({
      state: { ranges: [{ from: 1, to: 32 }] },
    })
    expect(changes.at(-1)).toMatchObject([{ ranges: [] }, { ranges: [{ from: 1, to: 32 }] }])
  })

  test('a failure arrives with its code, status, pause and causes', async () => {
    const world = new FakeWorld()
    world.source.onClaim = () => {
      const cause = new HiloError('server-unreachable', 'No network.', {
        cause: new TypeError('fetch failed'),
      })
      throw new HiloError('server-refused', 'Busy.', { status: 429, retryAfter: 7000, cause })
    }
    const { owner } = ownerAcross(world)
    const error = fromFailure(failureOf(await owner.claim(target, 1)))
    expect(error).toMatchObject({
      code: 'server-refused',
      message: expect.stringMatching(/^Busy\. See \S+$/),
      status: 429,
      retryAfter: 7000,
    })
    expect(error.cause).toMatchObject({
      code: 'server-unreachable',
      cause: 'TypeError: fetch failed',
    })
  })

  test('the page is told of changes that it did not make', async () => {
    const { owner, views, changed } = ownerAcross(new FakeWorld())
    must(await owner.exchange(target, exchangeOf({ want: 1 })))
    await changed
    expect(views[0]).toMatchObject({ isClaiming: true })
  })

  test('the page is asked for headers; its error is a failure like any other', async () => {
    const world = new FakeWorld()
    let getHeaders: () => unknown = () => {}
    world.createSource = ((_: unknown, headers: () => unknown) => {
      getHeaders = headers
      return world.source
    }) as never
    world.source.onClaim = async () => {
      seen.push(await getHeaders())
    }
    const seen: unknown[] = []
    const { port1, port2 } = new MessageChannel()
    expose(createOwner(world), port1)
    const owner = wrap<Owner>(port2)
    open.push({ owner, ports: [port1, port2] })
    let token = 'first'
    const headers = async () => {
      if (token === '') throw new Error('signed out')
      return { headers: { Authorization: token } }
    }
    owner.open(
      { ...config, headers: 'ask' },
      proxy({ headers, changed() {}, stored() {}, parkExcess: async () => {} }),
    )
    must(await owner.claim(target, 1))
    expect(seen).toEqual([{ Authorization: 'first' }])
    token = ''
    expect(failureOf(await owner.claim(target, 100)).message).toContain('signed out')
  })

  test('everything that crosses is plain data', async () => {
    const { owner } = ownerAcross(new FakeWorld())
    must(await owner.claim(target, 1))
    const answer = await owner.exchange(target, exchangeOf({ want: 4, offer: true }))
    expect(structuredClone(answer)).toEqual(answer)
  })
})
