/** The store in memory. */
import { describe, expect, test } from 'vitest'
import { type TestDevice, TestSeries } from '../../src/addons/testing/test-series.js'
import { MemoryStore } from '../../src/store/memory.js'
import type { StoreKey } from '../../src/store/store.js'
import { runStoreContract } from './contract.js'

describe('MemoryStore', () => {
  runStoreContract(() => {
    // Series in memory are those of an app's tests.
    const made = new Map<string, TestSeries>()
    const devices = new Map<string, TestDevice>()
    const series = ([, database, collection]: StoreKey) => {
      const device = devices.get(database) ?? { links: [], last: Promise.resolve() }
      devices.set(database, device)
      const name = JSON.stringify([database, collection])
      const known = made.get(name) ?? new TestSeries(device)
      made.set(name, known)
      return known
    }
    const store = Object.assign(new MemoryStore(), { series })
    return { open: () => store }
  })

  test('says that it does not outlive the page', () => {
    expect(new MemoryStore().isDurable).toBe(false)
  })
})
