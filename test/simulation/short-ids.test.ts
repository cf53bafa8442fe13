/**
 * Short ids stay short: however often pages come and go, a device's claims follow what was issued.
 * Each story runs the whole client against the authority that it names.
 */
import { describe, expect, test } from 'vitest'
import { CALM_TRAITS, newCalmWorld } from './calm-world.js'
import type { Device, Page } from './device.js'
import type { Profile } from './profile.js'
import { turn } from './scheduler.js'
import type { Simulation } from './simulation.js'

/** Nobody has claimed for it when a story begins. */
const COLLECTION = 'sales'

const numberOf = (id: string): number => Number(/\d+/.exec(id)![0])

/** A world in which things happen one after the other. */
class Story {
  readonly simulation: Simulation

  private constructor(simulation: Simulation) {
    this.simulation = simulation
  }

  static async begin(profile: Partial<Profile>): Promise<Story> {
    return new Story(await newCalmWorld(1, profile))
  }

  /** With one page. */
  addDevice(): Device {
    return this.simulation.addDevice(`d${this.simulation.devices.length + 1}`, CALM_TRAITS)
  }

  pass(ms: number): Promise<void> {
    const { scheduler } = this.simulation
    return scheduler.runUntil(scheduler.now + ms)
  }

  /** What the page's app calls, with its result. */
  async call<T>(page: Page, act: (page: Page) => Promise<T>): Promise<T> {
    let outcome: { result: T } | { error: unknown } | undefined
    page.run('acts', () => {
      act(page).then(
        (result) => (outcome = { result }),
        (error) => (outcome = { error }),
      )
    })
    // A part of the page is loaded when it is first needed, and that takes real time.
    for (; !outcome; await turn()) await this.pass(100)
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  leave(page: Page): Promise<void> {
    page.run('leaves', () => page.leave())
    return this.pass(1_000)
  }

  /** Another client of the same server, such as RavenDB's own, takes a range. */
  async otherClientClaims(): Promise<void> {
    const request = {
      method: 'GET',
      url: new URL(`https://hilo.test/databases/Shop/hilo/next?tag=${COLLECTION}`),
      headers: {},
      body: undefined,
      from: 'another client',
      sender: 'another client',
      node: 'A',
      answeredBy: undefined,
    }
    await this.simulation.servers.get('A')!.handle(request)
  }
}

/** One id per page load. */
async function loads(story: Story, count: number, between: () => unknown): Promise<number[]> {
  const device = story.addDevice()
  const ids: number[] = []
  for (let load = 0; load < count; load++) {
    const page = device.pages[0] ?? story.simulation.openPage(device)
    ids.push(numberOf(await story.call(page, ({ hilo }) => hilo.nextId(COLLECTION))))
    await between()
    await story.call(page, ({ hilo }) => hilo.warm(COLLECTION, 1))
    await story.pass(5_000)
    await story.leave(page)
    await story.pass(3_000)
  }
  return ids
}

describe('a shared terminal that keeps nothing, with one id per page load', () => {
  test('of a RavenDB, beside another client: 22 loads end below orders/60', async () => {
    const story = await Story.begin({ authority: 'raven', reserve: 0 })
    await story.otherClientClaims()
    expect(Math.max(...(await loads(story, 22, () => {})))).toBeLessThan(60)
  })

  test('of a RavenDB that grants to another client in each load: no claim grows', async () => {
    const story = await Story.begin({ authority: 'raven', reserve: 0 })
    const ids = await loads(story, 22, () => story.otherClientClaims())
    // RavenDB takes nothing back then, and grants 32 at least.
    expect(Math.max(...ids)).toBeLessThanOrEqual(22 * (32 + 32))
  })

  test('of our server: 22 loads end below orders/60', async () => {
    const story = await Story.begin({ authority: 'own', reserve: 0 })
    expect(Math.max(...(await loads(story, 22, () => {})))).toBeLessThan(60)
  })
})

test.each(['raven', 'own'] as const)(
  'a page that releases every second makes 60 ids nearly in a row: %s',
  async (authority) => {
    const story = await Story.begin({ authority, reserve: 32 })
    const [page] = story.addDevice().pages as [Page]
    const ids: number[] = []
    for (let i = 0; i < 60; i++) {
      ids.push(numberOf(await story.call(page, ({ hilo }) => hilo.nextId(COLLECTION))))
      await story.call(page, ({ hilo }) => hilo.release())
      await story.pass(1_000)
    }
    expect(Math.max(...ids)).toBeLessThanOrEqual(1.2 * ids.length)
  },
)

test('a page whose option is its reserve holds no more after reserve() of the same', async () => {
  const story = await Story.begin({ authority: 'own', reserve: 200 })
  const [page] = story.addDevice().pages as [Page]
  await story.call(page, ({ hilo }) => hilo.reserve(COLLECTION, 200))
  await story.pass(5_000)
  expect(page.hilo.status(COLLECTION).available).toBeLessThanOrEqual(232)
})

test('three devices that make 20 ids a second: the highest is near their count', async () => {
  const story = await Story.begin({ authority: 'own', reserve: 32 })
  const pages = [1, 2, 3].map(() => story.addDevice().pages[0]!)
  const ids: number[] = []
  for (let second = 0; second < 300; second++) {
    for (const page of pages)
      ids.push(
        ...(await story.call(page, ({ hilo }) => hilo.nextIds(COLLECTION, 20))).map(numberOf),
      )
    await story.pass(950)
  }
  for (const page of pages) await story.leave(page)
  await story.pass(5_000)
  expect(Math.max(...ids)).toBeLessThanOrEqual(1.2 * ids.length)
})

test.each([
  ['one after the other', 1_000],
  ['beside each other', 50],
])('three devices with bursts %s, then quiet: the highest is near their count', async (_, part) => {
  const story = await Story.begin({ authority: 'own', reserve: 32 })
  const devices = [1, 2, 3].map(() => story.addDevice())
  const ids: number[] = []
  for (let round = 0; round < 5; round++) {
    const pages = devices.map((device) => device.pages[0] ?? story.simulation.openPage(device))
    for (let made = 0; made < 1_000; made += part)
      for (const page of pages)
        await story.call(page, async ({ hilo }) => {
          for (let i = 0; i < part; i++) ids.push(numberOf(await hilo.nextId(COLLECTION)))
        })
    await story.pass(600_000)
    for (const page of pages) await story.leave(page)
    await story.pass(5_000)
  }
  expect(ids.length).toBe(15_000)
  expect(Math.max(...ids) / ids.length).toBeLessThanOrEqual(1.2)
})

test.each([
  ['a page', 'page'],
  ['a process without a page', 'service worker'],
] as const)(
  '%s that makes five ids of a RavenDB and closes, 20 times: 100 ids',
  async (_, kind) => {
    const story = await Story.begin({ authority: 'raven', reserve: 32 })
    const device = story.addDevice()
    device.pages[0]!.die()
    const ids: number[] = []
    for (let visit = 0; visit < 20; visit++) {
      const page = story.simulation.openPage(device, '', kind)
      await story.call(page, async ({ hilo }) => {
        for (let i = 0; i < 5; i++) ids.push(numberOf(await hilo.nextId(COLLECTION)))
      })
      await story.call(page, ({ hilo }) => hilo.close())
      page.die()
      await story.pass(3_000)
    }
    // What a RavenDB grants to a page that does not wait for it is lost.
    expect(Math.max(...ids)).toBe(ids.length)
  },
)
