/** The store in memory. */
import { describe, expect, test } from 'vitest'
import { MemoryStore } from '../../src/store/memory.js'
import { TestSeries } from '../../src/testing/series.js'
import { runStoreContract } from './contract.js'

describe('MemoryStore', () => {
  runStoreContract(() => {
    // Series in memory are those of an app's tests.
    const series = new TestSeries()
    const store = Object.assign(new MemoryStore(), { series: () => series })
    return { open: () => store }
  })

  test('says that it does not outlive the page', () => {
    expect(new MemoryStore().isDurable).toBe(false)
  })
})
