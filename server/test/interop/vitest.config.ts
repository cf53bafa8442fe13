/** `npm run test:interop`: the ORMs themselves as second takers, where they are installed. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    name: 'interop',
    include: ['server/test/interop/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
})
