/** The page in which ids are made by the thousand. The benches call it from outside. */
import { chain } from '../../src/addons/consecutive/chain.js'
import { consecutive } from '../../src/addons/consecutive/index.js'
import { createHilo, type Hilo } from '../../src/index.js'
import { sumOfCosts } from '../../test/support/costs.js'
import { openCounter } from './counter.js'
import { measureIssuing } from './issuing.js'

declare global {
  interface Window {
    workbench: typeof workbench
  }
}

let hilo: Hilo
const PATIENCE = { timeout: 120_000 }

const workbench = {
  open(name: string): void {
    hilo = createHilo({
      name,
      worker: () =>
        new Worker(new URL('./counting-worker.ts', import.meta.url), { type: 'module' }),
    })
  },

  issuing: (count: number) => measureIssuing(hilo, count),

  /** Makes so many, one after another, all pages at the same time. @returns when it was done */
  async issue({
    collection,
    count,
    at,
  }: {
    collection: string
    count: number
    at: number
  }): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, at - Date.now()))
    for (let i = 0; i < count; i++) await hilo.nextId(collection, PATIENCE)
    return Date.now()
  },

  /**
   * So many ids, first for callers that all ask at once, then by one call. The device has them all.
   * @returns milliseconds of each
   */
  async callers(count: number): Promise<{ callers: number; nextIds: number }> {
    await hilo.reserve('callers', 2 * count, PATIENCE)
    const start = performance.now()
    await Promise.all(Array.from({ length: count }, () => hilo.nextId('callers', PATIENCE)))
    const between = performance.now()
    await hilo.nextIds('callers', count, PATIENCE)
    return { callers: between - start, nextIds: performance.now() - between }
  },

  /** @returns milliseconds */
  async reserve({ collection, count }: { collection: string; count: number }): Promise<number> {
    const start = performance.now()
    await hilo.reserve(collection, count)
    return performance.now() - start
  },

  /**
   * Bare strict commits and consecutive numbers offline, without and with a chain, by turns.
   * @returns milliseconds of each
   */
  async series(count: number): Promise<Record<'bare' | 'next' | 'chained', number[]>> {
    const result = { bare: [] as number[], next: [] as number[], chained: [] as number[] }
    const counter = await openCounter('bench-bare-commit')
    const receipts = consecutive(hilo, 'receipts')
    const linked = consecutive(hilo, 'linked', {
      chain: chain<string>({ text: ({ content }, previous) => `${content} ${previous}` }),
    })
    await receipts.next({ key: 'first' })
    await linked.next({ key: 'first', content: 'first' })
    hilo.goOffline()
    for (let i = 0; i < count; i++) {
      const start = performance.now()
      await counter.next()
      const between = performance.now()
      await receipts.next({ key: `sale ${i}` })
      const last = performance.now()
      await linked.next({ key: `sale ${i}`, content: `12.35 EUR, sale ${i}` })
      result.bare.push(between - start)
      result.next.push(last - between)
      result.chained.push(performance.now() - last)
    }
    counter.close()
    return result
  },

  /** Of so many workers, those that waited for the disk. */
  transactions: async (workers: number) => (await sumOfCosts(workers)).strict,

  /**
   * What it takes the main thread to compile and run a script that was loaded, beside an empty one.
   * @returns milliseconds of each
   */
  async importing({
    script,
    rounds,
  }: {
    script: string
    rounds: number
  }): Promise<{ script: number[]; empty: number[] }> {
    const result = { script: [] as number[], empty: [] as number[] }
    const text = await (await fetch(script)).text()
    for (let round = 0; round < rounds; round++) {
      // Never the same text twice: engines keep what they have compiled.
      result.empty.push(await timeToImport(`// ${round}`))
      result.script.push(await timeToImport(`${text}\n// ${round}`))
    }
    return result
  },
}

async function timeToImport(text: string): Promise<number> {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  const start = performance.now()
  await import(/* @vite-ignore */ url)
  const end = performance.now()
  URL.revokeObjectURL(url)
  return end - start
}

window.workbench = workbench
