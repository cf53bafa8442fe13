/**
 * What a region holds of its root, in the ledger's PostgreSQL, for all of the region's servers. The
 * row is locked from its reading to the commit.
 */
import type { DeviceStore } from '../../../src/core/device-store.js'
import { keyOfRecord, readRecord, recordKey, writeRecord } from '../ledger/device-record.js'
import { READ_DEVICE, READ_DEVICE_KEYS, SAVE_DEVICE } from '../ledger/sql.js'
import type { PostgresPool } from './pool.js'

/** Makes sure that there is a row to lock, also the first time. */
const ADD_DEVICE = `
  INSERT INTO hilo_devices (key, state) VALUES ($1, '') ON CONFLICT DO NOTHING`

export function deviceStore(pool: PostgresPool): DeviceStore {
  const stored = (row: { state: string } | undefined) => readRecord(row?.state || undefined)

  return {
    isDurable: true,
    update: (key, transition) =>
      pool.transaction(async (query, write) => {
        const text = recordKey(key)
        const lock = () => query<{ state: string }>(`${READ_DEVICE} FOR UPDATE`, [text])
        let [row] = await lock()
        if (!row) {
          await query(ADD_DEVICE, [text])
          row = (await lock())[0]
        }
        const before = stored(row)
        const { state, setAside, result } = transition(before, [])
        if (state !== before)
          write(SAVE_DEVICE, [
            text,
            writeRecord(state),
            setAside === undefined ? null : writeRecord(setAside),
          ])
        return result
      }),
    async read(key) {
      const [row] = await pool.query<{ state: string }>(READ_DEVICE, [recordKey(key)])
      return { stored: stored(row), notes: [] }
    },
    keys: async () =>
      (await pool.query<{ key: string }>(READ_DEVICE_KEYS)).map(({ key }) => keyOfRecord(key)),
    // The pool is closed with the ledger.
    async close() {},
  }
}
