/** The store in memory. */
import { describe, expect, test } from 'vitest'
import { MemoryStore } from '../../src/store/memory.js'
import { runStoreContract } from './contract.js'

describe('MemoryStore', () => {
  runStoreContract(() => {
    const store = new MemoryStore()
    return { open: () => store }
  })

  test('says that it does not outlive the page', () => {
    expect(new MemoryStore().isDurable).toBe(false)
  })
})
