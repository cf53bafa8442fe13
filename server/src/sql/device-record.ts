/** How the state of a device, which a region is, stands in a row of the ledger's database. */
import type { StoreKey } from '../../../src/core/device-store.js'

export const recordKey = (key: StoreKey): string => JSON.stringify(key)
export const keyOfRecord = (text: string): StoreKey => JSON.parse(text)

/** Text that is not JSON is passed on: the device refuses it and sets it aside. */
export function readRecord(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const writeRecord = (record: unknown): string => JSON.stringify(record)
