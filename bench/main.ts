/** `npm run bench`: what an id costs, in a real browser and on the server, beside the peers, in one run. `--quick` only shows that it works. */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hono } from 'hono'
import { chromium } from 'playwright-core'
import { startDesk } from '../demo/server/desk-server.js'
import { createHiloHandler, openLedger } from '../src/server/index.js'
import { enginePath } from '../test/browser/engines.js'
import type { Row } from './issuing.js'

const isQuick = process.argv.includes('--quick')
const folder = mkdtempSync(join(tmpdir(), 'hilo-bench-'))
try {
  console.log(`${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.version}`)
  print(`Making an id in Chromium ${await issuing(isQuick ? 1_000 : 200_000)}`)
  print(`Claiming a range, one after another ${await claiming(isQuick ? 50 : 2_000)}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function issuing(count: number): Promise<string> {
  const desk = await startDesk({ data: join(folder, 'desk') })
  const browser = await chromium.launch({ executablePath: enginePath('chromium'), args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const page = await browser.newPage()
    await page.goto(`${desk.url}/demo/minimal/`)
    const rows = await page.evaluate(async (times) => {
      const bench: { run(count: number): Promise<Row[]> } = await import('/bench/issuing.ts' as string)
      return bench.run(times)
    }, count)
    return `${browser.version()}, ${count.toLocaleString('en')} times\n${table(rows, rows[0]!)}`
  } finally {
    await browser.close()
    await desk.close()
  }
}

async function claiming(count: number): Promise<string> {
  const ledger = await openLedger({ dataDir: join(folder, 'ledger') })
  const hilo = createHiloHandler({ ledger })
  const empty = new Hono().get('*', (c) => c.json({}))
  const each = async (name: string, ask: (i: number) => Promise<Response> | Response): Promise<Row> => {
    const start = performance.now()
    for (let i = 0; i < count; i++) await (await ask(i)).arrayBuffer()
    return { name, nanoseconds: ((performance.now() - start) * 1e6) / count }
  }
  const request = (i: number) => new Request(`http://bench/databases/Shop/hilo/next?tag=orders&claim=${uuid(i)}`)
  const rows = [
    await each('an empty Hono route (the floor)', (i) => empty.fetch(request(i))),
    await each('hilo/next on SQLite, each on disk', (i) => hilo(request(i))),
  ]
  await ledger.close()
  return `${count.toLocaleString('en')} times\n${table(rows, rows[0]!)}`
}

function uuid(i: number): string {
  return `00000000-0000-4000-8000-${i.toString(16).padStart(12, '0')}`
}

function table(rows: readonly Row[], floor: Row): string {
  return rows
    .map(
      ({ name, nanoseconds }) =>
        `  ${name.padEnd(42)} ${(nanoseconds / floor.nanoseconds).toFixed(2).padStart(10)} × ${nanoseconds.toFixed(0).padStart(10)} ns`,
    )
    .join('\n')
}

function print(text: string): void {
  console.log(`\n${text}`)
}
