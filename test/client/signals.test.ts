/**
 * One signal for many calls, as a component passes its own to each: Node takes more than ten
 * listeners of one signal for a leak, and warns.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { consecutive } from '../../src/addons/consecutive/index.js'
import type { Hilo } from '../../src/client/hilo.js'
import { newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop
const warnings: string[] = []
const keep = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`)

beforeEach(async () => {
  shop = await newShop()
  // Every call waits.
  shop.answer = () => new Promise(() => {})
  vi.stubGlobal('navigator', {})
  warnings.length = 0
  process.on('warning', keep)
})
afterEach(async () => {
  process.off('warning', keep)
  await shop.close()
})

const receipts = (hilo: Hilo) => consecutive(hilo, 'receipts', { device: 'Till 3' })

test.each<[string, (hilo: Hilo, signal: AbortSignal, i: number) => Promise<unknown>]>([
  ['nextId', (hilo, signal) => hilo.nextId('orders', { signal })],
  ['take', (hilo, signal) => hilo.take('orders', 5, { signal })],
  ['warm', (hilo, signal) => hilo.warm('orders', 5, { signal })],
  ['reserve', (hilo, signal) => hilo.reserve('orders', 500, { signal })],
  ['release', (hilo, signal, i) => hilo.release(`c${i}`, { signal })],
  ['nextIdentity', (hilo, signal) => hilo.nextIdentity('bills', { signal })],
  ['next of a series', (hilo, signal, i) => receipts(hilo).next({ key: `${i}`, signal })],
])('50 calls of %s with one signal, and its end, leave no warning', async (_, call) => {
  const { hilo } = shop.open()
  const ending = new AbortController()
  const calls = Array.from({ length: 50 }, (_, i) => call(hilo, ending.signal, i))
  const ended = Promise.allSettled(calls)
  await quiet()
  ending.abort()
  const codes = (await ended).map((each) => 'reason' in each && each.reason.code)
  expect(new Set(codes)).toEqual(new Set(['aborted']))
  await quiet()
  expect(warnings).toEqual([])
})

test('50 series of one Hilo leave no warning', async () => {
  const { hilo } = shop.open()
  for (let i = 0; i < 50; i++) consecutive(hilo, `receipts-${i}`, { device: 'Till 3' })
  await quiet()
  expect(warnings).toEqual([])
})

test('50 calls after the signal was aborted leave no warning', async () => {
  const { hilo } = shop.open()
  const signal = AbortSignal.abort()
  const calls = Array.from({ length: 50 }, () => hilo.nextId('orders', { signal }))
  await Promise.allSettled(calls)
  expect(warnings).toEqual([])
})
