/**
 * The real HiLo server on SQLite, which a test can stop and start again at the same address and on
 * the same data.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openLedger, serve } from '../../server/src/index.js'
import type { Ledger } from '../../server/src/ledger/ledger.js'

export interface HiloServer {
  url: string
  /** Stops the server: from then on nothing listens at its address. */
  stop(): Promise<void>
  start(): Promise<void>
  /** The highest number granted of a collection, as the ledger has it; 0 before the first. */
  max(tag: string): Promise<number>
  /**
   * Numbers of a collection that devices have been granted and have not given back, the issued ones
   * included.
   */
  outstanding(tag: string): Promise<number>
}

/** To be called inside a test; gone when the test ends. */
export async function openHiloServer(): Promise<HiloServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hilo-data-'))
  let running = await serve({ create: true, port: 0, dataDir })
  const { url } = running
  const stop = () => running.close()
  const onLedger = async <T>(ask: (ledger: Ledger) => Promise<T>): Promise<T> => {
    const ledger = await openLedger({ create: true, dataDir })
    try {
      return await ask(ledger)
    } finally {
      await ledger.close()
    }
  }
  onTestFinished(async () => {
    await stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return {
    url,
    stop,
    async start() {
      running = await serve({ create: true, port: Number(new URL(url).port), dataDir })
    },
    max: (tag) =>
      onLedger(
        async (ledger) => (await ledger.read({ database: 'default', collection: tag }))?.max ?? 0,
      ),
    outstanding: (tag) =>
      onLedger(
        async (ledger) =>
          (await ledger.status()).find((each) => each.collection === tag)?.outstanding ?? 0,
      ),
  }
}
