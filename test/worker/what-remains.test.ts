/**
 * The shortest ways to a number twice that no remedy prevents (H13, H32): how they go, and where
 * they end. “Why it cannot duplicate” lists them.
 */
import { expect, test } from 'vitest'
import type { Owner } from '../../src/device/contract.js'
import {
  FakeSource,
  FakeWorld,
  fail,
  flush,
  lease,
  must,
  ownerIn,
  target,
  unreachable,
} from '../support/world.js'

/** Within this time, the server has heard of what a device has leased. */
const REPORTED_MS = 11_000

/** A device with 32 numbers, and an owner that has asked the server at its start. */
async function running() {
  const world = new FakeWorld()
  must(await ownerIn(world).owner.claim(target, 1))
  const { owner } = ownerIn(world)
  await lease(owner, 0)
  await world.pass(REPORTED_MS)
  return { world, owner }
}

async function copyOf(world: FakeWorld): Promise<FakeWorld> {
  const copy = new FakeWorld({ source: world.source })
  await copy.put(await world.stored())
  return copy
}

/** So many numbers of the first range, as a page gets them. */
async function take(owner: Owner, count: number): Promise<number[]> {
  const { leases } = await lease(owner, count)
  return leases.flatMap(({ range: { from, to } }) =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i),
  )
}

const inBoth = (one: readonly number[], other: readonly number[]): number[] =>
  one.filter((n) => other.includes(n))

test('a copy that asks first makes what its original has not yet reported (13 steps)', async () => {
  const { world, owner } = await running()
  const copy = await copyOf(world)
  const unreported = await take(owner, 4)
  const copied = await take(ownerIn(copy).owner, 8)
  expect(inBoth(unreported, copied)).toEqual([1, 2, 3, 4])
  await world.pass(REPORTED_MS)
  // The original has heard of its copy by now, and makes nothing of that range any more.
  expect((await world.stored()).gaps.fork).toBe(32)
  expect(inBoth(await take(owner, 8), copied)).toEqual([])
})

test('a copy makes nothing of what its original has reported', async () => {
  const { world, owner } = await running()
  const copy = await copyOf(world)
  await take(owner, 4)
  await world.pass(REPORTED_MS)
  await take(ownerIn(copy).owner, 8)
  expect((await copy.stored()).gaps.fork).toBe(32)
})

test('a device that goes back to a report under way repeats two intervals (14 steps)', async () => {
  const { world, owner } = await running()
  await take(owner, 1)
  world.source.onCheckIn = fail(unreachable())
  await world.pass(REPORTED_MS)
  const backup = await world.stored()
  expect(backup.checkIn).toBeDefined()
  world.source.onCheckIn = () => {}
  await world.pass(60_000)
  const unreported = await take(owner, 4)
  owner.close()
  await world.put(backup)
  expect(inBoth(unreported, await take(ownerIn(world).owner, 8))).toEqual(unreported)
})

test('a device that goes back to a report under way repeats nothing older', async () => {
  const { world, owner } = await running()
  await take(owner, 1)
  world.source.onCheckIn = fail(unreachable())
  await world.pass(REPORTED_MS)
  const backup = await world.stored()
  world.source.onCheckIn = () => {}
  await world.pass(60_000)
  await take(owner, 4)
  await world.pass(REPORTED_MS)
  owner.close()
  await world.put(backup)
  await lease(ownerIn(world).owner, 8)
  expect((await world.stored()).gaps.fork).toBe(32)
})

test('copies without a network make the same numbers; the second to come back stops', async () => {
  const { world, owner } = await running()
  const copy = await copyOf(world)
  world.source.onCheckIn = fail(unreachable())
  const second = ownerIn(copy).owner
  const made = await take(owner, 8)
  expect(inBoth(made, await take(second, 8))).toEqual(made)
  world.source.onCheckIn = () => {}
  await world.pass(120_000)
  await copy.pass(120_000)
  expect((await world.stored()).gaps.fork).toBe(0)
  expect((await copy.stored()).gaps.fork).toBe(32)
})

test('a disk that goes back under a running page repeats numbers until a report', async () => {
  const { world, owner } = await running()
  const backup = await world.stored()
  const before = await take(owner, 4)
  await world.pass(REPORTED_MS)
  await world.put(backup)
  expect(inBoth(before, await take(owner, 4))).toEqual(before)
  await world.pass(2 * REPORTED_MS)
  expect((await world.stored()).gaps.fork).toBe(32)
})

test('with no tokens, as a RavenDB has none, copies are never told apart', async () => {
  const world = new FakeWorld({ source: new FakeSource(false) })
  must(await ownerIn(world).owner.claim(target, 1))
  const copy = await copyOf(world)
  const made = await take(ownerIn(world).owner, 8)
  expect(inBoth(made, await take(ownerIn(copy).owner, 8))).toEqual(made)
  await flush()
  await copy.pass(24 * 60 * 60_000)
  expect((await copy.stored()).gaps.fork).toBe(0)
})
