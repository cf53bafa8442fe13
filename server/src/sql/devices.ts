/**
 * A region's record of its numbers from the root, in the ledger's database, for all of the region's
 * servers. Each change is a transaction of its own, which keeps the row locked, and is on disk
 * before its promise resolves. A record of a newer version is neither read nor changed.
 */
import type { DeviceStore, StoreKey } from '../../../src/device/device-store.js'
import { STATE_VERSION } from '../../../src/device/state.js'
import { LedgerUpgraded } from '../ledger/ledger-errors.js'
import { adding, finding, type SqlConnection, statement } from './statements.js'
import { DEVICES, type DeviceRow } from './tables.js'

export function deviceStore({ dialect, transaction, read }: SqlConnection): DeviceStore {
  const { schema } = dialect
  const readKeys = `SELECT key AS "key" FROM ${schema}.hilo_devices WHERE state <> ''`
  const save = `UPDATE ${schema}.hilo_devices
    SET state = $1, set_aside = coalesce($2, set_aside) WHERE key = $3`
  const add = `${adding(dialect, DEVICES)} ON CONFLICT DO NOTHING`
  const find = (key: string, isLocked: boolean) =>
    statement(finding(dialect, DEVICES, ['key'], { isLocked }), ...dialect.given([{ key }]))
  const stored = (row: DeviceRow | undefined) => readRecord(row?.state || undefined)

  return {
    isDurable: true,
    async update(of, transition) {
      const key = recordKey(of)
      for (;;) {
        const done = await transaction({
          reads: [find(key, true)],
          step([found]) {
            const [row] = found as DeviceRow[]
            // So that there is a row to lock, also the first time.
            if (!row) {
              const added = dialect.given([{ key, state: '', setAside: null }])
              return { answer: undefined, writes: [statement(add, ...added)] }
            }
            const before = stored(row)
            const { state, setAside, result } = transition(before, [])
            const aside = setAside === undefined ? null : writeRecord(setAside)
            const writes = state === before ? [] : [statement(save, writeRecord(state), aside, key)]
            return { answer: { result }, writes }
          },
        })
        if (done) return done.result
      }
    },
    async read(key) {
      const [row] = await read<DeviceRow>(find(recordKey(key), false))
      return { stored: stored(row), notes: [] }
    },
    keys: async () =>
      (await read<DeviceRow>(statement(readKeys))).map(({ key }) => keyOfRecord(key)),
    // The database is closed with the ledger.
    async close() {},
  }
}

const recordKey = (key: StoreKey): string => JSON.stringify(key)
const keyOfRecord = (text: string): StoreKey => JSON.parse(text)

/**
 * Text that is not JSON is passed on: the device refuses it and sets it aside.
 * @throws LedgerUpgraded
 */
function readRecord(text: string | undefined): unknown {
  if (text === undefined) return undefined
  const record = parsed(text)
  const { version } = Object(record)
  // guard: H17 a region misreads no record of a newer version
  if (version > STATE_VERSION)
    throw new LedgerUpgraded("this region's numbers", version, STATE_VERSION)
  return record
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const writeRecord = (record: unknown): string => JSON.stringify(record)
