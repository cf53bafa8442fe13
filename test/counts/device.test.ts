/**
 * What a device pays for starts and bursts as users make them. The counts are exact: a story that
 * has become cheaper fails its test, too. Whoever changes a count changes its line here, and says
 * in the commit why.
 */
import { expect, test } from 'vitest'
import type { Hilo } from '../../src/client/hilo.js'
import type { Page } from '../simulation/device.js'
import { SERVER_URL, type Request as Sent } from '../simulation/network.js'
import { RavenModel } from '../simulation/raven-model.js'
import { type Counts, DeviceWorld } from './device-world.js'

/** By story, and by what is counted in it. */
const COUNTS = {
  'a start on an empty device': {
    'to the first id': { strict: 3, relaxed: 1, claims: 1, messages: 9 },
    'two minutes after it': { messages: 1, timers: 1 },
  },
  // The check-in is what it waits for, a second at most. Without a network it fails at once.
  'a start with stored ids': {
    'the page goes': { relaxed: 2 },
    'to the first id': { strict: 3, relaxed: 1, checkIns: 1, messages: 7 },
    'two minutes after it': { messages: 1, timers: 1 },
  },
  'a start with stored ids, without a network': {
    'the page goes': { relaxed: 2 },
    'to the first id': { strict: 3, relaxed: 1, checkIns: 1, messages: 8 },
    'two minutes after it': { strict: 1, checkIns: 1, timers: 1 },
  },
  'a start of a restored session': {
    'the page goes': { relaxed: 2 },
    'to the first id': { strict: 3, relaxed: 1, checkIns: 1, messages: 7 },
    'two minutes after it': { messages: 1, timers: 1 },
  },
  'a reload of a page that was answered': {
    'the page goes': { relaxed: 2 },
    'to the first id': { strict: 1, relaxed: 1, messages: 4 },
    'two minutes after it': { strict: 3, checkIns: 1, messages: 4, timers: 1 },
  },
  // One id each. Only the first one waits for the server, whose page was not answered before.
  '100 reloads within a minute': {
    'to the last id': { strict: 123, relaxed: 300, claims: 3, checkIns: 6, messages: 436 },
  },
  '10,000 ids of an empty device, each awaited before the next': {
    // Goal: at most 22 strict transactions.
    'to the last id': { strict: 23, relaxed: 1, claims: 7, messages: 59 },
    'two minutes after it': { strict: 8, claims: 1, checkIns: 1, messages: 17, timers: 1 },
  },
  '10,000 ids of an empty device, by Promise.all': {
    'to the last id': { strict: 6, relaxed: 1, claims: 2, messages: 15 },
    'two minutes after it': { strict: 7, claims: 1, checkIns: 1, messages: 15, timers: 1 },
  },
  '10,000 ids of an empty device, by nextIds': {
    'to the last id': { strict: 6, relaxed: 1, claims: 2, messages: 15 },
    'two minutes after it': { strict: 7, claims: 1, checkIns: 1, messages: 15, timers: 1 },
  },
  '10,000 ids in each of eight pages, each awaited before the next': {
    'to the last id': {
      strict: 102,
      relaxed: 8,
      claims: 12,
      messages: 1_511,
      broadcasts: 826,
    },
    'two minutes after it': {
      strict: 36,
      checkIns: 1,
      messages: 239,
      broadcasts: 91,
      timers: 8,
    },
  },
  'a page that is hidden and shown': {
    hidden: { strict: 1, relaxed: 1, messages: 4 },
    'two minutes after it': { timers: 1 },
    shown: { strict: 6, claims: 1, checkIns: 1, messages: 14 },
    'two more minutes': { timers: 1 },
  },
  // The one timer of a page at rest is its next check-in.
  'an idle page': {
    'in a day': { strict: 24, checkIns: 8, messages: 32, timers: 1 },
  },
  'eight idle pages': {
    'in a day': { strict: 136, checkIns: 8, messages: 368, broadcasts: 112, timers: 8 },
  },
  'reserve(500)': {
    'to its end': { strict: 4, claims: 1, messages: 2 },
    'two minutes after it': { timers: 1 },
  },
  'release() of 100 collections': {
    'a start, until all are ready': { strict: 3, relaxed: 1, claims: 1, messages: 702 },
    'two minutes after it': { messages: 100, timers: 1 },
    // It asks once whether the server is there.
    'to its end': { strict: 8, giveBacks: 2, messages: 204 },
    'two more minutes': { strict: 101, checkIns: 1, messages: 200, timers: 1 },
  },
} satisfies Record<string, Record<string, Counts>>

const IDS = 10_000
const DAY_MS = 24 * 3_600_000

const nextId = (hilo: Hilo) => hilo.nextId('orders')

async function oneByOne(hilo: Hilo): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < IDS; i++) ids.push(await nextId(hilo))
  return ids
}

const allAtOnce = (hilo: Hilo) => Promise.all(Array.from({ length: IDS }, () => nextId(hilo)))
const byOneCall = (hilo: Hilo) => hilo.nextIds('orders', IDS)

const STORIES: Record<keyof typeof COUNTS, (world: DeviceWorld) => Promise<void>> = {
  async 'a start on an empty device'(world) {
    const page = world.openPage()
    await world.counted('to the first id', () => world.call([page], nextId))
    await world.countedAtRest('two minutes after it')
  },
  'a start with stored ids': (world) => startAgain(world),
  'a start with stored ids, without a network': (world) => startAgain(world, { isOnline: false }),
  'a start of a restored session': (world) => startAgain(world, { isRestored: true }),
  'a reload of a page that was answered': (world) => startAgain(world, { isReload: true }),
  async '100 reloads within a minute'(world) {
    let page = await pageAtRest(world)
    await world.counted('to the last id', async () => {
      for (let i = 0; i < 100; i++) page = await reload(page, world)
    })
  },
  '10,000 ids of an empty device, each awaited before the next': (world) =>
    burst(world, 1, oneByOne),
  '10,000 ids of an empty device, by Promise.all': (world) => burst(world, 1, allAtOnce),
  '10,000 ids of an empty device, by nextIds': (world) => burst(world, 1, byOneCall),
  '10,000 ids in each of eight pages, each awaited before the next': (world) =>
    burst(world, 8, oneByOne),
  async 'a page that is hidden and shown'(world) {
    const page = await pageAtRest(world)
    await world.counted('hidden', () => world.happens(page, () => page.hide()))
    await world.countedAtRest('two minutes after it')
    await world.counted('shown', () => world.happens(page, () => page.show()))
    await world.countedAtRest('two more minutes')
  },
  'an idle page': (world) => idle(world, 1),
  'eight idle pages': (world) => idle(world, 8),
  async 'reserve(500)'(world) {
    const page = await pageAtRest(world)
    await world.counted('to its end', () =>
      world.call([page], (hilo) => hilo.reserve('orders', 500)),
    )
    await world.countedAtRest('two minutes after it')
  },
  async 'release() of 100 collections'(world) {
    const page = world.openPage(Array.from({ length: 100 }, (_, i) => `collection${i}`))
    await world.counted('a start, until all are ready', () =>
      world.call([page], (hilo) => hilo.ready),
    )
    await world.countedAtRest('two minutes after it')
    await world.counted('to its end', () => world.call([page], (hilo) => hilo.release()))
    await world.countedAtRest('two more minutes')
  },
}

const openPages = (world: DeviceWorld, count: number) =>
  Array.from({ length: count }, () => world.openPage())

async function pageAtRest(world: DeviceWorld) {
  const page = world.openPage()
  await world.call([page], nextId)
  await world.twoMinutes()
  return page
}

async function reload(left: Page, world: DeviceWorld): Promise<Page> {
  left.run('acts', () => left.leave())
  await world.pass(100)
  const page = world.reload(left)
  await world.call([page], nextId)
  await world.pass(400)
  return page
}

async function startAgain(
  world: DeviceWorld,
  { isOnline = true, isRestored = false, isReload = false } = {},
): Promise<void> {
  const page = await pageAtRest(world)
  // It is told of what was leased, and answered.
  await world.happens(page, () => page.hide())
  await world.happens(page, () => page.show())
  await world.counted('the page goes', () => world.happens(page, () => page.leave()))
  world.device.isOnline = isOnline
  world.device.restoresSession = isRestored
  const again = isReload ? world.reload(page) : world.openPage()
  await world.counted('to the first id', () => world.call([again], nextId))
  await world.countedAtRest('two minutes after it')
}

async function burst(
  world: DeviceWorld,
  pageCount: number,
  make: (hilo: Hilo) => Promise<string[]>,
): Promise<void> {
  const pages = openPages(world, pageCount)
  await world.counted('to the last id', async () => {
    const ids = (await world.call(pages, make)).flat()
    expect(new Set(ids).size).toBe(pageCount * IDS)
  })
  await world.countedAtRest('two minutes after it')
}

async function idle(world: DeviceWorld, pageCount: number): Promise<void> {
  await world.call(openPages(world, pageCount), nextId)
  await world.twoMinutes()
  await world.countedAtRest('in a day', () => world.pass(DAY_MS))
}

test.each(Object.entries(STORIES))('%s', async (name, tell) => {
  const world = await DeviceWorld.begin()
  await tell(world)
  expect(world.counts).toEqual(COUNTS[name as keyof typeof COUNTS])
})

/**
 * A device whose RavenDB others use, too. It is opened, makes 300 ids, rests and is left, 20 times;
 * each time another client claims.
 * @returns how many numbers it took for each id, with what it holds in the end
 */
async function comesAndGoes(): Promise<number> {
  let taken = 0
  const count = (from: string, numbers: number) => {
    if (from !== 'another') taken += numbers
  }
  const witness = {
    granted: (_: string, from: string, low: number, high: number) => count(from, high - low + 1),
    returned: (_: string, from: string, low: number, high: number) => count(from, low - high - 1),
    returnedAstray: (_: string, low: number, high: number) => count('', low - high - 1),
    excuse() {},
  }
  const raven = new RavenModel('A', witness, () => 0)
  const world = new DeviceWorld((request) => raven.handle(request))
  const url = new URL(`${SERVER_URL}/databases/Shop/hilo/next?tag=orders&lastBatchSize=32`)
  const ids = new Set<string>()
  for (let visit = 0; visit < 20; visit++) {
    const page = world.openPage()
    await world.call([page], async (hilo) => {
      for (let i = 0; i < 300; i++) ids.add(await nextId(hilo))
    })
    await raven.handle({ method: 'GET', url, from: 'another' } as Sent)
    await world.twoMinutes()
    await world.happens(page, () => page.leave())
  }
  expect(ids.size).toBe(6_000)
  return taken / ids.size
}

test('what exceeds its reserve, a device keeps that a RavenDB would not take back', async () => {
  expect(await comesAndGoes()).toBeLessThan(1.1)
})
