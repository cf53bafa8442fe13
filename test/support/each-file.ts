/**
 * Runs with each file of tests: at its end nothing is left of what it replaced or opened, because
 * the next file runs in the same process. A file that leaves a global replaced fails, and one in
 * which Node warns of listeners that nobody removes.
 */
import { afterAll, vi } from 'vitest'
import { endFile } from './file-end.js'

const GLOBALS = [
  'Date',
  'FinalizationRegistry',
  'clearInterval',
  'clearTimeout',
  'document',
  'fetch',
  'localStorage',
  'location',
  'navigator',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
  'window',
] as const

const snapshot = () => GLOBALS.map((name) => (globalThis as Record<string, unknown>)[name])
const before = snapshot()

const leaks: Error[] = []
const keepLeaks = (warning: Error): void => {
  if (warning.name === 'MaxListenersExceededWarning') leaks.push(warning)
}
process.on('warning', keepLeaks)

afterAll(async () => {
  // A mock may stand before a fake clock, and would bring it back if it were restored later.
  vi.restoreAllMocks()
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  await endFile()
  emptyIndexedDb()
  const left = GLOBALS.filter((_, i) => snapshot()[i] !== before[i])
  process.off('warning', keepLeaks)
  if (left.length > 0)
    throw new Error(`This file leaves ${left.join(', ')} replaced, also for the next file.`)
  if (leaks[0]) throw leaks[0]
})

/** A device of the next file must not find ranges that a server of this one has granted. */
function emptyIndexedDb(): void {
  if (!('indexedDB' in globalThis)) return
  const FakeFactory = indexedDB.constructor as new () => IDBFactory
  globalThis.indexedDB = new FakeFactory()
}
