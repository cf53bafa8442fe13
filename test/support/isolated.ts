/**
 * Files of tests that replace or reset modules, or what modules take from the realm when they are
 * loaded. What is loaded after them would be a second copy, with a HiloError of its own: each runs
 * in a process of its own. All others share processes.
 */
export const ISOLATED = [
  'examples/testing/*.test.ts',
  'test/client/degraded.test.ts',
  'test/client/observer.test.ts',
  'test/client/page-exit.test.ts',
  'test/addons/consecutive/late-file.test.ts',
  'test/counts/device.test.ts',
  'test/docs/tutorial-outbox.test.ts',
  'test/addons/react.test.ts',
  'test/server-rendering.test.ts',
  'test/simulation/*.test.ts',
  'test/worker/two-owners.test.ts',
]
