/** The simulating processes run one bundled file. It has the same parts as the modules. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundle } from './play.js'

test('loads Comlink without finalizers, which would keep the world of every schedule', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-bundle-'))
  try {
    const file = join(folder, 'player.mjs')
    await bundle(file)
    const code = readFileSync(file, 'utf8')
    const steps = [
      'globalThis.FinalizationRegistry = class',
      'const proxyFinalizers = ',
      'globalThis.FinalizationRegistry = RealFinalizationRegistry',
    ].map((part) => code.indexOf(part))
    expect(steps).toEqual(steps.toSorted((a, b) => a - b))
    expect(Math.min(...steps)).toBeGreaterThan(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
