/** The inspector’s module on a server. */
import { expect, test } from 'vitest'

test('the import is harmless where there are no elements, as on a server', async () => {
  expect(globalThis).not.toHaveProperty('HTMLElement')
  const { HiloInspector } = await import('../../../src/addons/inspector/index.js')
  expect(HiloInspector).toBeTypeOf('function')
})
