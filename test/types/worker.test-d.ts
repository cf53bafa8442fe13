/** The public types of `offline-hilo/worker`. */
import { expectTypeOf } from 'vitest'
import type { Hilo, HiloOptions } from '../../src/index.js'
import { createHilo, startWorker } from '../../src/worker/index.js'

expectTypeOf(createHilo).parameter(0).toEqualTypeOf<Omit<HiloOptions, 'worker'> | undefined>()
expectTypeOf(createHilo).returns.toEqualTypeOf<Hilo>()
expectTypeOf(startWorker).toEqualTypeOf<() => void>()

// @ts-expect-error in a worker there is no other worker to make
export const wrong = () => createHilo({ worker: () => new Worker('x') })
