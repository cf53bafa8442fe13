/**
 * Runs with each file of tests: at its end nothing is left of what it replaced or opened, because
 * the next file runs in the same process.
 */
import { afterAll, vi } from 'vitest'
import { endFile } from './file-end.js'

afterAll(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  await endFile()
})
