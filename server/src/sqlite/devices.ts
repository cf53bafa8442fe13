/**
 * What a region holds of its root, in the ledger's file. Each change is a transaction of its own,
 * which takes the write lock first, and is on disk before its promise resolves.
 */
import type { DeviceStore } from '../../../src/core/device-store.js'
import { keyOfRecord, readRecord, recordKey, writeRecord } from '../ledger/device-record.js'
import { READ_DEVICE, READ_DEVICE_KEYS, SAVE_DEVICE } from '../ledger/sql.js'
import { reader, runner, type Sqlite } from './file.js'

interface Steps {
  change<T>(step: () => T): Promise<T>
  read<T>(step: () => T): Promise<T>
}

export function deviceStore(db: Sqlite, { change, read }: Steps): DeviceStore {
  const readState = reader<{ state: string }>(db, READ_DEVICE)
  const readKeys = reader<{ key: string }>(db, READ_DEVICE_KEYS)
  const save = runner(db, SAVE_DEVICE)
  const stored = (key: string) => readRecord(readState(key)[0]?.state)

  return {
    isDurable: true,
    update: (key, transition) =>
      change(() => {
        const text = recordKey(key)
        const before = stored(text)
        const { state, setAside, result } = transition(before, [])
        if (state !== before)
          save(text, writeRecord(state), setAside === undefined ? null : writeRecord(setAside))
        return result
      }),
    read: (key) => read(() => ({ stored: stored(recordKey(key)), notes: [] })),
    keys: () => read(() => readKeys().map(({ key }) => keyOfRecord(key))),
    // The ledger's file is closed with the ledger.
    async close() {},
  }
}
