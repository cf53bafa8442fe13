/**
 * The published contract suite in this project's own test runner, and changes to try a store with.
 */
import { test } from 'vitest'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import type { DeviceStore, StoreKey } from '../../src/store/store.js'
import { type StoreBench, storeChecks } from '../../src/store/testing.js'

export const KEY: StoreKey = ['https://api.example.com', 'Shop', 'orders/']

/** Counts one up, and says what it counted to. */
export const count = (stored: unknown) => {
  const state = (stored as DeviceState | undefined) ?? emptyState()
  return { state: { ...state, issued: state.issued + 1 }, result: state.issued + 1 }
}

/** What is stored, changing nothing. */
export const peek = (store: DeviceStore, key = KEY): Promise<unknown> =>
  store.update(key, (stored) => ({ state: stored as DeviceState, result: structuredClone(stored) }))

export function runStoreContract(makeBench: () => StoreBench | Promise<StoreBench>): void {
  for (const { name, run } of storeChecks(makeBench)) test(name, run)
}
