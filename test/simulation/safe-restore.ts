/**
 * A server that a person restores from a backup as the documents say: its floors are raised before
 * it starts, by more than it has granted since. What it had granted before is granted to nobody any
 * more.
 */
import type { Checker, Series } from './checker.js'
import type { Copy } from './ledger-storage.js'
import type { OwnServer, Witness } from './own-servers.js'

export class SafeRestore {
  readonly #highest = new Map<Series, number>()
  /** How many numbers were granted since the backup. */
  readonly #since = new Map<Series, number>()
  #floors: ReadonlyMap<Series, number> | undefined
  #backup: Copy | undefined

  /** Was the server restored? */
  get isDone(): boolean {
    return this.#floors !== undefined
  }

  get hasBackup(): boolean {
    return this.#backup !== undefined
  }

  backUp(server: OwnServer): void {
    this.#backup = server.backUp()
    this.#since.clear()
  }

  /** Call this when there is a backup, and the server was stopped. */
  async restore(server: OwnServer, database: string): Promise<void> {
    const copy = this.#backup!
    this.#backup = undefined
    this.#floors = new Map(this.#highest)
    const by = Math.max(0, ...this.#since.values()) + 1
    await server.restore(copy, async (ledger) => void (await ledger.raiseFloors({ database, by })))
  }

  granted(series: Series, low: number, high: number): void {
    this.#highest.set(series, Math.max(high, this.#highest.get(series) ?? 0))
    this.#since.set(series, (this.#since.get(series) ?? 0) + high - low + 1)
  }

  /** What is told of the server. What is given back late is granted to nobody. */
  witnessOf(witness: Witness): Witness {
    const { checker } = witness
    const returned: Checker['returned'] = (series, from, low, ...rest) => {
      if (low > (this.#floors?.get(series) ?? 0)) checker.returned(series, from, low, ...rest)
    }
    return {
      ...witness,
      checker: { complain: (what) => checker.complain(what), returned },
      copyProved: (server) =>
        this.isDone
          ? checker.complain('a server stops as a copy, and its floors were raised')
          : witness.copyProved(server),
      lostShown: (...shown) => this.isDone || witness.lostShown(...shown),
      // It has forgotten which copies it had found.
      copyFound: (...found) => this.isDone || witness.copyFound(...found),
      claimed: (claim, device, series, lastMax, low, high, ledger) => {
        this.granted(series, low, high)
        witness.claimed(claim, device, series, lastMax, low, high, ledger)
      },
    }
  }
}
