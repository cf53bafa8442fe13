/**
 * A page that does nothing costs nothing. On a virtual clock, everything that was begun has two
 * minutes to end. Then ten minutes are counted.
 */
import { expect, test } from 'vitest'
import type { Hilo } from '../../src/client/hilo.js'
import { CALM_TRAITS, newCalmWorld } from './calm-world.js'
import type { Page } from './device.js'
import { turn } from './scheduler.js'
import type { Simulation } from './simulation.js'

const MINUTE_MS = 60_000
/** What happens in ten minutes: each line of the trace, and how often it came. */
async function tenMinutesOf({ scheduler }: Simulation): Promise<Record<string, number>> {
  await scheduler.runUntil(scheduler.now + 2 * MINUTE_MS)
  scheduler.trace!.length = 0
  await scheduler.runUntil(scheduler.now + 10 * MINUTE_MS)
  const counts: Record<string, number> = {}
  for (const line of scheduler.trace!) {
    const event = line.trim().replace(/^\d+\s+/, '')
    counts[event] = (counts[event] ?? 0) + 1
  }
  return counts
}

type Act = (hilo: Hilo, page: Page) => unknown

const before: [string, Act][] = [
  ['was opened', () => {}],
  ['has made one id', (hilo) => hilo.nextId('orders')],
  ['has made 500 ids', (hilo) => hilo.nextIds('orders', 500)],
  ['was warmed', (hilo) => hilo.warm('orders', 200)],
  ['has filled a reserve', (hilo) => hilo.reserve('orders', 300)],
  ['has given all back', (hilo) => hilo.nextId('orders').then(() => hilo.release())],
  ['was switched off', (hilo) => hilo.nextId('orders').then(() => hilo.goOffline())],
  ['was hidden', (hilo, page) => hilo.nextIds('orders', 50).then(() => page.hide())],
]

test.each(before)('a page at rest that %s: no transaction, request or timer', (_, act) =>
  expectRest(1, act),
)

test.each(before)('eight pages at rest that %s: no transaction, request or timer', (_, act) =>
  expectRest(8, act),
)

async function expectRest(count: number, act: Act): Promise<void> {
  const simulation = await newCalmWorld()
  const { scheduler, checker } = simulation
  const device = simulation.addDevice('d1', CALM_TRAITS)
  while (device.pages.length < count) simulation.openPage(device)
  let done = 0
  for (const page of device.pages)
    page.run('acts', () => {
      Promise.resolve(act(page.hilo, page)).then(() => done++)
    })
  // A part of the page is loaded when it is first needed, and that takes real time.
  for (; done < count; await turn()) await scheduler.runUntil(scheduler.now + 1_000)
  expect(await tenMinutesOf(simulation)).toEqual({})
  expect(checker.violations).toEqual([])
}
