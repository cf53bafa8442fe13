/**
 * A page is closed while its thread is busy, and another one starts meanwhile. The numbers of the
 * first are not forgotten: they are free again, or known as a gap, before a third page starts.
 */
import { expect, test } from 'vitest'
import { CALM_TRAITS, newCalmWorld } from './calm-world.js'
import type { Page } from './device.js'
import { type Scheduler, turn } from './scheduler.js'

const IDS = 5
/** Longer than a page that starts looks around. */
const SETTLED_MS = 20_000

async function makeIds(page: Page, scheduler: Scheduler): Promise<void> {
  let isDone = false
  page.run('makes ids', () => {
    page.hilo.nextIds('orders', IDS).then(() => {
      isDone = true
    })
  })
  // A part of the page is loaded when it is first needed, and that takes real time.
  for (; !isDone; await turn()) await scheduler.runUntil(scheduler.now + 100)
}

/** @returns what a page that started meanwhile left on the device of one that closed after `ms` */
async function closeAfter(ms: number, hears: boolean, seed: number) {
  const simulation = await newCalmWorld(seed)
  const { scheduler, checker } = simulation
  const device = simulation.addDevice('d1', CALM_TRAITS)
  const [first] = device.pages
  await makeIds(first!, scheduler)
  first!.closeBusy(ms, hears)
  await makeIds(simulation.openPage(device), scheduler)
  await scheduler.runUntil(scheduler.now + SETTLED_MS)
  expect(checker.violations).toEqual([])
  const [state] = simulation.statesOf(device)
  return { held: state!.leases.filter(({ id }) => first!.isNamed(id)), crash: state!.gaps.crash }
}

const SEEDS = [1, 2, 3]

test.each([500, 1_500, 4_000, 8_000])(
  'a page that hears of it after %i ms leaves no gap',
  async (ms) => {
    for (const seed of SEEDS)
      expect(await closeAfter(ms, true, seed)).toEqual({ held: [], crash: 0 })
  },
)

test.each([500, 1_500, 4_000, 8_000])(
  'of a page that is killed after %i ms, the status knows the gap',
  async (ms) => {
    for (const seed of SEEDS)
      expect(await closeAfter(ms, false, seed)).toEqual({ held: [], crash: 16 })
  },
)
