/**
 * This package's own server, the real one: its handler over its SQLite ledger, two processes on each database, one database per node.
 * Everything the ledger does is written down for the checker.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { createHiloHandler, type Ledger, LedgerUnavailable, openLedger } from '../../src/server/index.js'
import type { Checker } from './checker.js'
import type { Request as NetworkRequest, Reply } from './network.js'
import type { Random } from './random.js'

export interface ServerFaults {
  /** Probability that the process dies around its commit: before it, or before the answer. */
  killed: number
  /** Probability that the database gives up before or after the commit; nobody knows which. */
  unavailable: number
}

const PROCESSES = 2

/** What a server logs of simulated trouble is no news. */
const SILENT = { info() {}, error() {} }

/** What happened at the ledger, as far as others care. */
export interface Witness {
  checker: Checker
  /** A give-back that the server did not take. */
  stranded(series: string, low: number, high: number): void
  repeated(claim: string, device: string, series: string, low: number, high: number): void
  claimed(claim: string | undefined, device: string, series: string, lastMax: number, low: number, high: number): void
}

export class OwnServer {
  readonly faults: ServerFaults = { killed: 0, unavailable: 0 }
  readonly #node: string
  readonly #folder: string
  readonly #random: Random
  readonly #witness: Witness
  readonly #hit: (fault: string) => void
  #processes: ((request: Request) => Promise<Response>)[] = []
  #ledgers: Ledger[] = []
  #sender = ''

  private constructor(node: string, folder: string, random: Random, witness: Witness, hit: (fault: string) => void) {
    this.#node = node
    this.#folder = folder
    this.#random = random
    this.#witness = witness
    this.#hit = hit
  }

  static async start(node: string, folder: string, random: Random, witness: Witness, hit: (fault: string) => void): Promise<OwnServer> {
    const server = new OwnServer(node, folder, random, witness, hit)
    await server.#open()
    return server
  }

  async handle(request: NetworkRequest): Promise<Reply | undefined> {
    if (this.#random.chance(this.faults.killed)) {
      this.#hit('server killed')
      if (this.#random.chance(0.5)) return undefined
      await this.#answer(request)
      return undefined
    }
    return this.#answer(request)
  }

  /** The numbers of a collection that nobody holds, as the server sees it. */
  async freeAndMax(database: string): Promise<{ tag: string; max: number; free: number; outstanding: number }[]> {
    return (await this.#ledgers[0]!.status()).filter((each) => each.database === database)
  }

  /** A consistent copy of the database, as a backup makes it. */
  backUp(): string {
    const copy = join(this.#folder, `backup-${Date.now()}-${Math.floor(this.#random.next() * 1e9)}.db`)
    const db = new Database(join(this.#folder, 'hilo.db'))
    db.exec(`VACUUM INTO '${copy}'`)
    db.close()
    return copy
  }

  async restore(copy: string): Promise<void> {
    await this.stop()
    for (const end of ['', '-wal', '-shm']) rmSync(join(this.#folder, `hilo.db${end}`), { force: true })
    copyFileSync(copy, join(this.#folder, 'hilo.db'))
    await this.#open()
  }

  async stop(): Promise<void> {
    for (const ledger of this.#ledgers) await ledger.close()
  }

  async #open(): Promise<void> {
    this.#ledgers = []
    this.#processes = []
    for (let i = 0; i < PROCESSES; i++) {
      const ledger = await openLedger({ dataDir: this.#folder })
      this.#ledgers.push(ledger)
      this.#processes.push(createHiloHandler({ ledger: this.#watched(ledger), nodeTag: this.#node, log: SILENT }))
    }
  }

  async #answer({ method, url, headers, body, from }: NetworkRequest): Promise<Reply> {
    this.#sender = from
    const response = await this.#random.pick(this.#processes)(new Request(url, { method, headers, ...(body !== undefined && { body }) }))
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }

  #watched(ledger: Ledger): Ledger {
    const seriesOf = (tag: string) => `${tag.toLowerCase()}-${this.#node}`
    return {
      ...ledger,
      claim: (claims) =>
        this.#shaky(async () => {
          const outcomes = await ledger.claim(claims)
          outcomes.forEach((outcome, i) => {
            if ('refused' in outcome) return
            const { id, tag, lastMax } = claims[i]!
            const { low, high } = outcome.grant
            if (outcome.isRepeat) this.#witness.repeated(id!, this.#sender, seriesOf(tag), low, high)
            else this.#witness.claimed(id, this.#sender, seriesOf(tag), lastMax, low, high)
          })
          return outcomes
        }),
      giveBack: (request) =>
        this.#shaky(async () => {
          const count = await ledger.giveBack(request)
          // Only the end of a grant can come back (wire, 4.2): what another tab issued above it keeps it here.
          if (count === 0 && request.lease) this.#witness.stranded(seriesOf(request.tag), request.last + 1, request.end)
          if (count > 0) this.#witness.checker.returned(seriesOf(request.tag), this.#sender, request.last + 1, request.end)
          return count
        }),
      checkIn: (request) => this.#shaky(() => ledger.checkIn(request)),
    }
  }

  async #shaky<T>(step: () => Promise<T>): Promise<T> {
    if (!this.#random.chance(this.faults.unavailable)) return step()
    this.#hit('ledger unavailable')
    if (this.#random.chance(0.5)) await step()
    throw new LedgerUnavailable('The simulated database gave up.')
  }
}

/** A folder for databases, in memory where the system has such a place. */
export function makeFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hilo-simulation-'))
}
