/**
 * This package's own server, the real one: its handler over its ledger, two processes on each
 * database, one database per node. Everything the ledger does is written down for the checker.
 */
import {
  type CheckInResult,
  createHiloHandler,
  type Ledger,
  LedgerUnavailable,
  type ShownGrant,
} from '../../server/src/index.js'
import type { Series, SeriesHandOver, StatedPeriod } from '../../server/src/ledger/ledger.js'
import { CounterUnusable } from '../../server/src/ledger/ledger-errors.js'
import { DAY_MS } from '../../src/core/day.js'
import { ledgerOf } from './another-name.js'
import type { Checker, Late } from './checker.js'
import { claimKey, collectionOf } from './claims.js'
import { SimulatedRequest } from './http.js'
import type { Copy, LedgerStorage } from './ledger-storage.js'
import type { Request as NetworkRequest, Reply } from './network.js'
import type { Random } from './random.js'
import { ProcessDied, SqliteStorage } from './sqlite-storage.js'
import { ofTenant, tenantIn } from './tenants.js'

export interface ServerFaults {
  /** Probability that the process dies around its commit: before it, or before the answer. */
  killed: number
  /** Probability that the database gives up before or after the commit; nobody knows which. */
  unavailable: number
}

/** Has a copy of a device's storage, and a client of his own. */
export const SOMEBODY = 'somebody'

const SOUND: ServerFaults = { killed: 0, unavailable: 0 }

/** Drops what servers log: they log faults, and the faults are simulated. */
const SILENT = { info() {}, error() {} }

/**
 * Servers that run on from schedule to schedule, each schedule with databases of its own name;
 * starting one costs more than many claims.
 */
function isBehind(
  rotations: ReadonlyMap<string, number>,
  token: string,
  isUnderWay: boolean,
): boolean {
  const rotation = rotations.get(grantId(token)) ?? 0
  return rotation > rotationOf(token) + Number(isUnderWay)
}

export class OwnServers {
  readonly #byNode = new Map<string, OwnServer>()
  readonly #newStorage: () => LedgerStorage

  constructor(newStorage: () => LedgerStorage) {
    this.#newStorage = newStorage
  }

  async of(node: string): Promise<OwnServer> {
    const known = this.#byNode.get(node)
    if (known && !known.isSpent) return known
    await known?.remove()
    const server = await OwnServer.start(node, this.#newStorage())
    this.#byNode.set(node, server)
    return server
  }

  async remove(): Promise<void> {
    for (const server of this.#byNode.values()) await server.remove()
    this.#byNode.clear()
  }
}

interface GrantedRange {
  /** The devices that asked for it. Copies of a device may ask with the same claim. */
  devices: string[]
  series: string
  low: number
  high: number
}

/** What is told of the ledger to the rest of the simulation. */
export interface Witness {
  checker: Pick<Checker, 'complain' | 'returned'>
  /** The ledger says that somebody proved it an older copy of itself. */
  copyProved(server: OwnServer): void
  /** A device has shown a token of a grant up to `high` that a restore has taken away. */
  lostShown(series: string, high: number): void
  /**
   * A claim of this key or a check-in of this id was answered.
   * @param tokens that it has shown
   * @param isFound was its device told that it is a copy?
   */
  told(id: string, device: string, tokens: readonly string[], isFound: boolean): void
  /**
   * A device showed an old token of a grant.
   * @param numbers of that grant, without those that were granted anew since
   */
  copyFound(device: string, series: string, numbers: readonly number[]): void
  claimed(
    claim: string | undefined,
    device: string,
    series: string,
    lastMax: number,
    low: number,
    high: number,
    ledger: string,
  ): void
}

/** The world that a server plays its part in. */
export interface Stage {
  random: Random
  witness: Witness
  hit(fault: string): void
}

export interface GivenSeries {
  letter: string
  device: string
  /** Of each hand-over: the device that has got the series. Null: none has. */
  takers: (string | null)[]
}

export class OwnServer {
  faults: ServerFaults = { ...SOUND }
  readonly #node: string
  readonly storage: LedgerStorage
  /** Of each process: the node tag that it is started with. */
  tags: readonly string[]
  /** Another ledger that answers at the same address, if there is one. */
  beside: LedgerStorage | undefined
  /** How often a ledger was begun anew in the place of the first. */
  generation = 0
  /** What a schedule has changed would be there in the next one. */
  isSpent = false
  #stage!: Stage
  #processes: { ledger: string; handle: (request: Request) => Promise<Response> }[] = []
  #ledgers: Ledger[] = []
  #sender = ''
  #hasDied = false
  #starting: Promise<void> | undefined
  /** By the id of the grant, in the order of granting. */
  readonly #grants = new Map<string, GrantedRange>()
  /** By the id of the grant: how often its token was replaced, also before a restore. */
  readonly #rotations = new Map<string, number>()
  /** Ids of grants that a restore has taken away. */
  #lost = new Set<string>()
  /** What an operator has dropped, or wanted to: `orders-A`. */
  readonly #dropped = new Set<string>()
  /** The same, as the ledger knows it. */
  #known = new Map<string, number>()
  /** By the copy: the grants that it has, and what it knows of them. */
  readonly #inCopies = new Map<Copy, Map<string, number>>()

  private constructor(node: string, storage: LedgerStorage) {
    this.#node = node
    this.tags = [node, node]
    this.storage = storage
  }

  static async start(node: string, storage: LedgerStorage): Promise<OwnServer> {
    const server = new OwnServer(node, storage)
    await server.start()
    return server
  }

  /** From now on the server serves this world. */
  enter(stage: Stage): this {
    this.#stage = stage
    this.storage.forget()
    this.#grants.clear()
    this.#rotations.clear()
    this.#known.clear()
    this.#lost.clear()
    this.#dropped.clear()
    this.#inCopies.clear()
    this.faults = { ...SOUND }
    return this
  }

  /** @returns undefined when nobody answers */
  async handle(request: NetworkRequest): Promise<Reply | undefined> {
    if (this.#processes.length === 0) return undefined
    if (this.#stage.random.chance(this.faults.killed)) {
      this.#stage.hit('server killed')
      if (this.#stage.random.chance(0.5)) return undefined
      await this.#answer(request)
      return undefined
    }
    const reply = await this.#answer(request)
    if (!this.#hasDied) return reply
    await this.#startAgain()
    return undefined
  }

  /** Its process ends at this commit from now on, which is not made. A person starts it again. */
  dieAtCommit(nth: number): void {
    if (this.#processes.length === 0 || !(this.storage instanceof SqliteStorage)) return
    this.isSpent = true
    this.storage.failAtCommit(nth, () => {
      this.#hasDied = true
      this.#stage.hit('server killed at a commit')
    })
  }

  /** Of the first process. Undefined: none runs. */
  get ledger(): Ledger | undefined {
    return this.#ledgers[0]
  }

  /** An operator stops the processes, changes something and starts them again. */
  async whileStopped(change: () => unknown): Promise<void> {
    this.isSpent = true
    await this.stop()
    await change()
    await this.start()
  }

  /** A consistent copy of the database, as a backup makes it. */
  backUp(): Copy {
    const copy = this.storage.backUp()
    const ids = [...this.#grants.keys()].filter((id) => !this.#lost.has(id))
    this.#inCopies.set(copy, new Map(ids.map((id) => [id, this.#known.get(id) ?? 0])))
    return copy
  }

  /** The series that were given, and to which devices. */
  async givenSeries(database: string): Promise<GivenSeries[]> {
    const list = async () => {
      const ledger = await this.storage.open()
      const series = await ledger.series(database)
      await ledger.close()
      return series
    }
    const all = await (this.#ledgers.length > 0 ? this.#command(list) : list())
    return all.map(({ letter, device, handOvers }) => ({
      ...{ letter, device },
      takers: handOvers.map(({ to, isTaken }) => (isTaken ? to : null)),
    }))
  }

  /** @param prepare what an operator does before the server listens */
  async restore(copy: Copy, prepare = async (_: Ledger): Promise<void> => {}): Promise<void> {
    await this.stop()
    this.storage.restore(copy)
    const ledger = await this.storage.open()
    await prepare(ledger)
    await ledger.close()
    const known = this.#inCopies.get(copy)!
    this.#known = new Map(known)
    this.#lost = new Set([...this.#grants.keys()].filter((id) => !known.has(id)))
    await this.start()
  }

  /**
   * The operator believes that no collection went further than `by` since the backup.
   * @returns false when it grants already
   */
  async raiseFloors(database: string, by: number): Promise<boolean> {
    return this.#command(async (ledger) => {
      if ((await ledger.restored()).length === 0) return false
      await ledger.raiseFloors({ database, by })
      return true
    })
  }

  /** The operator has listed the series that were given. */
  async reopenSeries(database: string): Promise<void> {
    if (this.#ledgers.length > 0) await this.#command((ledger) => ledger.reopenSeries({ database }))
  }

  /** An operator drops a collection. @returns false when there is no ledger now */
  async drop(database: string, collection: string): Promise<boolean> {
    if (this.#ledgers.length === 0) return false
    this.#dropped.add(`${collection.toLowerCase()}-${this.#node}`)
    await this.#command((ledger) => ledger.drop({ database, collection, at: 0 })).catch(notNow)
    return true
  }

  /** Every row is old. @returns false when there is no ledger now */
  async prune(): Promise<boolean> {
    if (this.#ledgers.length === 0) return false
    const before = Date.now() + DAY_MS
    const pruning = { settledBefore: before, heardBefore: before }
    await this.#command((ledger) => ledger.prune(pruning)).catch(notNow)
    return true
  }

  /**
   * A client of somebody's own claims.
   * @param shown the token that it shows, which may be one of another collection
   */
  async claimBySomebody(
    claim: { database: string; collection: string; id: string; count: number; at: number },
    shown?: ShownGrant,
  ): Promise<void> {
    if (this.#ledgers.length === 0) return
    this.#sender = SOMEBODY
    const request = {
      ...claim,
      serverTag: this.#node,
      lastMax: 0,
      ...(shown && { shown: [shown] }),
    }
    await this.#command((ledger) => this.#watched(ledger).claim([request])).catch(notNow)
  }

  /**
   * A person lets a device go on with the series of one that is lost.
   * @param period undefined: the newest that the server has heard of
   * @param more the documents have so many more numbers
   * @param paper the last documents of all periods
   * @returns undefined when it was refused, or there is no ledger now
   */
  async handOver(
    database: string,
    letter: string,
    to: string,
    { period, more, paper }: { period: string; more: number; paper(): StatedPeriod[] },
  ): Promise<Series | undefined> {
    const listed = await this.#ledgers[0]?.series(database).catch(notNow)
    if (!listed) return undefined
    const series = listed.find((each) => each.letter === letter)
    const known = series?.periods.at(-1) ?? { period, last: 0 }
    const asked = {
      database,
      collection: 'receipts',
      letter,
      to,
      period: known.period,
      newPeriod: series?.periods.length === 0,
      last: Math.max(1, known.last + more),
      by: 'anna',
      reason: 'lost',
      at: 0,
    }
    const handOver = (request: SeriesHandOver) =>
      this.#command((ledger) => ledger.handOverSeries(request)).catch(notNow)
    const said = await handOver(asked)
    const isUntold = said && 'refused' in said && said.refused === 'untold'
    const outcome = isUntold ? await handOver({ ...asked, ...statedBy(asked, paper()) }) : said
    return outcome && 'refused' in outcome ? undefined : outcome
  }

  /** Ends the server and deletes its database. */
  async remove(): Promise<void> {
    await this.stop()
    this.storage.remove()
    this.beside?.remove()
  }

  /** Each process looks at its ledger. */
  async look(): Promise<void> {
    // Another ledger is in its place already.
    for (const ledger of this.#ledgers) await ledger.ping().catch(() => {})
  }

  /** @throws Error when there is no ledger */
  async start(): Promise<void> {
    const storages = [this.storage, this.beside ?? []].flat()
    for (const storage of storages)
      for (const nodeTag of this.tags) {
        const ledger = await storage.open()
        ledger.onRestored(() => this.#stage.witness.copyProved(this))
        this.#ledgers.push(ledger)
        const name = storage === this.storage ? `${this.generation}` : 'beside'
        this.#processes.push({
          ledger: name,
          handle: createHiloHandler({
            ledger: this.#watched(ledger, name, nodeTag),
            nodeTag,
            log: SILENT,
            open: true,
          }),
        })
      }
  }

  /** A person's command, which runs beside the servers. If it dies, the person repeats it. */
  async #command<T>(run: (ledger: Ledger) => Promise<T>): Promise<T> {
    try {
      return await run(this.#ledgers[0]!)
    } catch (error) {
      if (!(error instanceof ProcessDied)) throw error
      await this.#startAgain()
      return run(this.#ledgers[0]!)
    }
  }

  async #startAgain(): Promise<void> {
    this.#starting ??= this.whileStopped(() => {
      this.#hasDied = false
    }).finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async stop(): Promise<void> {
    for (const ledger of this.#ledgers) await ledger.close()
    this.#ledgers = []
    this.#processes = []
  }

  async #answer({ method, url, headers, body, from }: NetworkRequest): Promise<Reply> {
    this.#sender = from
    const request = new SimulatedRequest(method, url.href, headers, body)
    const { ledger, handle } = this.#stage.random.pick(this.#processes)
    const response = await handle(request as unknown as Request)
    return {
      ledger: ledgerOf(ledger, databaseIn(url)),
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    }
  }

  /**
   * Was a number of this token's grant granted once more, after it came back?
   * @param counts does this grant count? Without it, each does
   */
  wasGrantedSince(
    token: string,
    counts: (id: string, grant: GrantedRange) => boolean = () => true,
  ): (n: number) => boolean {
    const all = [...this.#grants]
    const at = all.findIndex(([id]) => id === grantId(token))
    const since = all
      .slice(at + 1)
      .flatMap(([id, grant]) =>
        grant.series === all[at]?.[1].series && counts(id, grant) ? grant : [],
      )
    return (n) => since.some(({ low, high }) => low <= n && n <= high)
  }

  /**
   * Was this token replaced, so that who shows it is found?
   * @param isUnderWay the request that replaced it may come again, and gets its answer again
   */
  isOld(token: string, isUnderWay: boolean): boolean {
    return isBehind(this.#known, token, isUnderWay)
  }

  /** Was it replaced, and a restore has made it valid again? */
  isOldAsTheBackup(token: string, isUnderWay: boolean): boolean {
    return !this.isOld(token, isUnderWay) && isBehind(this.#rotations, token, isUnderWay)
  }

  /**
   * Before a give-back under this token arrived: had the token been replaced, or the number been
   * granted once more?
   */
  #lateness(token: string): (n: number) => Late | undefined {
    const wasSwapped = (rotations: ReadonlyMap<string, number>) =>
      rotationOf(token) < (rotations.get(grantId(token)) ?? 0)
    const isKnown = wasSwapped(this.#known)
    const isForgotten = wasSwapped(this.#rotations)
    const wasGranted = this.wasGrantedSince(token, (id) => !this.#lost.has(id))
    const wasEverGranted = this.wasGrantedSince(token)
    return (n) => {
      if (isKnown || wasGranted(n)) return 'as the ledger knows'
      return isForgotten || wasEverGranted(n) ? 'as a restore forgot' : undefined
    }
  }

  #watched(ledger: Ledger, name = `${this.generation}`, nodeTag = this.#node): Ledger {
    const seriesOf = (tag: string, database: string) =>
      `${ofTenant(tag.toLowerCase(), tenantIn(database))}-${nodeTag}`
    return {
      ...ledger,
      // A refusal of one give-back may be answered while another one of that request is under way.
      claim: (claims) => {
        const from = this.#sender
        return this.#shaky(async () => {
          const outcomes = await ledger.claim(claims)
          for (const { shown = [] } of claims) this.#lostShown(shown.map(({ token }) => token))
          outcomes.forEach((outcome, i) => {
            if ('refused' in outcome) return
            const { id, database, collection: tag, lastMax, shown = [] } = claims[i]!
            const { low, high, token } = outcome.grant
            const series = seriesOf(tag, database)
            const known = this.#grants.get(grantId(token))
            const devices = [...(known?.devices ?? []), from]
            this.#shown(from, shown, outcome.results)
            this.#grants.set(grantId(token), { devices, series, low, high })
            if (id !== undefined && !outcome.isRepeat) {
              const tokens = shown.map(({ token }) => token)
              const isFound = outcome.results.includes('superseded')
              this.#stage.witness.told(claimKey(id, collectionOf(series)), from, tokens, isFound)
            }
            // A claim whose first answer failed behind the ledger is granted when it comes again.
            if (!outcome.isRepeat || (!known && !this.#lost.has(grantId(token))))
              this.#stage.witness.claimed(
                id,
                from,
                series,
                lastMax,
                low,
                high,
                ledgerOf(name, database),
              )
          })
          return outcomes
        })
      },
      giveBack: (request) => {
        const from = this.#sender
        return this.#shaky(async () => {
          const { database, collection: tag, last, end, token = '' } = request
          const by = ledgerOf(name, database)
          const series = seriesOf(tag, database)
          // A check-in may replace the token while this is under way.
          const lateness = this.#lateness(token)
          const count = await ledger.giveBack(request)
          this.#lostShown([token])
          if (count > 0)
            this.#stage.witness.checker.returned(series, from, last + 1, end, lateness, by)
          return count
        })
      },
      checkIn: (request) => {
        const from = this.#sender
        return this.#shaky(async () => {
          const results = await ledger.checkIn(request)
          const tokens = request.grants.map(({ token }) => token)
          const isFound = results.includes('superseded')
          this.#stage.witness.told(request.id, from, tokens, isFound)
          for (const token of request.spent ?? []) this.#spent(token)
          this.#lostShown([...tokens, ...(request.spent ?? [])])
          this.#shown(from, request.grants, results)
          return results
        })
      },
    }
  }

  #lostShown(tokens: readonly string[]): void {
    for (const token of tokens) {
      const id = grantId(token)
      const grant = this.#lost.has(id) && this.#grants.get(id)
      if (grant) this.#stage.witness.lostShown(grant.series, highOf(token))
    }
  }

  /** What became of the tokens that a device has shown, in a claim or in a check-in. */
  #shown(from: string, shown: readonly ShownGrant[], results: readonly CheckInResult[]): void {
    results.forEach((result, i) => {
      if (typeof result === 'object') this.#replaced(result.token, rotationOf(result.token))
      const { token } = shown[i]!
      const grant = this.#grants.get(grantId(token))
      if (result === 'dropped' && grant && !this.#dropped.has(grant.series))
        this.#stage.witness.checker.complain(`${token} was called dropped, and was not`)
      if (result !== 'superseded' || !grant) return
      const isNewer = this.wasGrantedSince(token)
      const numbers = Array.from({ length: grant.high - grant.low + 1 }, (_, n) => grant.low + n)
      const without = numbers.filter((n) => !isNewer(n))
      this.#stage.witness.copyFound(from, grant.series, without)
    })
  }

  /** A ledger that a restore has set back to an older token of the grant does nothing. */
  #spent(token: string): void {
    const [id, rotation] = [grantId(token), rotationOf(token)]
    if ((this.#known.get(id) ?? 0) >= rotation) this.#replaced(token, rotation + 1)
    else this.#rotations.set(id, Math.max(this.#rotations.get(id) ?? 0, rotation + 1))
  }

  #replaced(token: string, rotation: number): void {
    const id = grantId(token)
    for (const rotations of [this.#rotations, this.#known])
      rotations.set(id, Math.max(rotations.get(id) ?? 0, rotation))
  }

  async #shaky<T>(step: () => Promise<T>): Promise<T> {
    if (!this.#stage.random.chance(this.faults.unavailable)) return step()
    this.#stage.hit('ledger unavailable')
    if (this.#stage.random.chance(0.5)) await step()
    throw new LedgerUnavailable('The simulated database gave up.')
  }
}

/** The command fails, and the person does not try again. */
function notNow(error: unknown): undefined {
  if (!(error instanceof LedgerUnavailable || error instanceof CounterUnusable)) throw error
}

/** As its path says. */
const databaseIn = ({ pathname }: URL): string => pathname.split('/')[2] ?? ''

/** A grant token begins with its grant's id. */
const grantId = (token: string): string => token.split('.')[0]!
/** Its tail may have been given back. */
const highOf = (token: string): number => Number(token.split('.')[3])
const rotationOf = (token: string): number => Number(token.split('.')[1])

/** What a person says who has looked at all documents of the lost device. */
const statedBy = (
  { period, last }: StatedPeriod,
  paper: readonly StatedPeriod[],
): { last: number; otherPeriods: StatedPeriod[] } => ({
  last: Math.max(last, paper.find((each) => each.period === period)?.last ?? 0),
  otherPeriods: paper.filter((each) => each.period !== period),
})
