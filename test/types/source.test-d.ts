/** The public types of `offline-hilo/source` and `offline-hilo/textbook`. */
import { expectTypeOf } from 'vitest'
import { type HiLoGeneratorOptions, hiLoGenerator } from '../../src/addons/textbook.js'
import {
  createHilo,
  type Hilo,
  type HiloOptions,
  type HiloSource,
  type IdentityOptions,
} from '../../src/index.js'
import {
  type DocumentOptions,
  documentSource,
  type NextHiOptions,
  nextHiSource,
} from '../../src/source/index.js'

expectTypeOf(nextHiSource).parameter(0).toEqualTypeOf<NextHiOptions>()
expectTypeOf(nextHiSource).returns.toEqualTypeOf<HiloSource>()
expectTypeOf(documentSource).parameter(0).toEqualTypeOf<DocumentOptions>()
expectTypeOf(documentSource).returns.toEqualTypeOf<HiloSource>()
expectTypeOf<HiloOptions['source']>().toEqualTypeOf<HiloSource | undefined>()

export const sources = () => [
  createHilo({ source: nextHiSource({ key: 'a', nextHi: async () => 1, maxLo: 10 }) }),
  createHilo({
    source: nextHiSource({
      key: 'a',
      nextHi: (collection, database) => collection.length + database.length,
      maxLo: 10,
      firstId: 1,
    }),
  }),
  createHilo({
    source: documentSource({
      url: '/{collection}.json',
      key: 'a',
      capacity: 64,
      headers: async () => ({}),
      fetch,
    }),
  }),
  // @ts-expect-error how many ids a hi stands for has to be said
  nextHiSource({ key: 'a', nextHi: async () => 1 }),
  // @ts-expect-error which counter it is has to be said
  nextHiSource({ nextHi: async () => 1, maxLo: 10 }),
  // @ts-expect-error a hi is a number
  nextHiSource({ key: 'a', nextHi: async () => '1', maxLo: 10 }),
  // @ts-expect-error no source
  createHilo({ source: { url: '/' } }),
]

export async function identities(hilo: Hilo) {
  expectTypeOf(
    await hilo.nextIdentity('invoices', { key: 'a', database: 'Shop' }),
  ).toEqualTypeOf<number>()
  expectTypeOf<IdentityOptions>().toEqualTypeOf<{
    database?: string
    key?: string
    signal?: AbortSignal
  }>()
}

expectTypeOf(hiLoGenerator).parameter(0).toEqualTypeOf<HiLoGeneratorOptions>()
expectTypeOf(hiLoGenerator).returns.toEqualTypeOf<() => Promise<number>>()
