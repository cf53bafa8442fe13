/** Waits until something is so. Guarantees that a machine which is busy fails no test. */
import { vi } from 'vitest'

/** Vitest's own limit is one second. It moves fake timers on, which `expect.poll` does not. */
export const eventually = <T>(work: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(work, { timeout: 60_000 })
