/**
 * The truth about every number, kept beside the system under test: who was granted it, who issued it, what came back.
 * Complains at the first step that breaks a promise, and knows exactly which limits are documented.
 */

/** Numbers of one collection from one node: `orders-A`. */
export type Series = string

export interface Entry {
  /** The device it was granted to last. */
  owner: string
  isHeld: boolean
  issuedBy: string | undefined
  /** Copies of one profile that held it when they were copied: until they check in, both may issue it. */
  sharedBy: Set<string> | undefined
  /** The server was restored from a copy that knows nothing of its grant: it may grant it again, until its owner shows how far it got. */
  isForgotten: boolean
  /** Its lease token is as old as the database that was restored: a give-back that was late may find it valid again. */
  isRolledBack: boolean
  /** It was free in that copy: no highest number can tell the server that it has been granted since. */
  wasFree: boolean
  /** A restored server did grant it again. */
  isDoubled: boolean
  /** Why nobody may ever issue it. */
  excuse: string | undefined
}

export class Checker {
  readonly violations: string[] = []
  /** How often a documented limit was reached. */
  readonly tolerated = new Map<string, number>()
  issuedCount = 0
  readonly #series = new Map<Series, Map<number, Entry>>()

  complain(what: string): void {
    this.violations.push(what)
  }

  granted(series: Series, device: string, low: number, high: number): void {
    for (let n = low; n <= high; n++) {
      const known = this.entry(series, n)
      if (!known) {
        this.#numbers(series).set(n, newEntry(device))
        continue
      }
      if (known.isHeld || known.issuedBy) {
        if (known.isForgotten) {
          this.#tolerate('granted again by a restored server')
          known.isDoubled = true
        } else if (known.sharedBy) this.#tolerate('granted again after a copied profile gave it back')
        else this.complain(`${series} ${n} was granted to ${device}, but ${this.#describe(known)}`)
      }
      known.owner = device
      known.isHeld = true
      known.excuse = undefined
    }
  }

  /** The server took `low` to `high` back from `device`. */
  returned(series: Series, device: string, low: number, high: number): void {
    for (let n = low; n <= high; n++) {
      const entry = this.entry(series, n)
      if (!entry) {
        this.complain(`${series} ${n} was given back by ${device}, but nobody was ever granted it`)
        continue
      }
      const isLimit = entry.isForgotten || entry.isDoubled || entry.sharedBy?.has(device)
      if (isLimit) this.#tolerate('given back under a documented limit')
      else if (entry.isRolledBack && entry.issuedBy) {
        this.#tolerate('given back late, after a restore made its token valid again')
        entry.isForgotten = true
      } else if (entry.issuedBy) this.complain(`${series} ${n} was given back by ${device}, but ${this.#describe(entry)}`)
      else if (entry.isHeld && entry.owner !== device)
        this.complain(`${series} ${n} was given back by ${device}, but ${this.#describe(entry)}`)
      entry.isHeld = false
    }
  }

  issued(series: Series, device: string, n: number): void {
    this.issuedCount++
    const entry = this.entry(series, n)
    if (!entry) {
      this.complain(`${series} ${n} was issued by ${device}, but the server never granted it`)
      return
    }
    const isShared = entry.sharedBy?.has(device) || (entry.issuedBy !== undefined && entry.sharedBy?.has(entry.issuedBy))
    if (entry.issuedBy !== undefined || !entry.isHeld || entry.owner !== device) {
      const isOfOneCopy = entry.issuedBy === device
      if (entry.isDoubled) this.#tolerate('issued twice after a restored server granted it again')
      else if (isShared && !isOfOneCopy) this.#tolerate('issued by both copies of a profile')
      else this.complain(`${series} ${n} was issued by ${device}, but ${this.#describe(entry)}`)
    }
    entry.issuedBy = device
  }

  /** Both copies hold it now. */
  shared(series: Series, low: number, high: number, devices: readonly string[]): void {
    for (let n = low; n <= high; n++) {
      const entry = this.entry(series, n)
      if (entry) entry.sharedBy = new Set([...(entry.sharedBy ?? []), ...devices])
    }
  }

  /** What a node's database knows: every number that it ever granted, with its holder if it has one. */
  knownAt(node: string): Map<string, string | undefined> {
    const known = new Map<string, string | undefined>()
    for (const [series, n, { isHeld, isForgotten, owner }] of this.entries()) {
      if (series.endsWith(`-${node}`) && !isForgotten) known.set(`${series} ${n}`, isHeld ? owner : undefined)
    }
    return known
  }

  /** The node's database is as it was when it knew only this. */
  forget(node: string, known: ReadonlyMap<string, string | undefined>): void {
    for (const [series, n, entry] of this.entries()) {
      if (!series.endsWith(`-${node}`)) continue
      const key = `${series} ${n}`
      const holder = known.get(key)
      // What came back since the copy is held again; who has it now is not known there.
      entry.isDoubled ||= holder !== undefined && entry.owner !== holder
      entry.isForgotten = holder === undefined && (entry.isHeld || entry.issuedBy !== undefined)
      entry.wasFree = known.has(key) && holder === undefined
      entry.isRolledBack = true
      if (holder !== undefined && !entry.isHeld) {
        entry.isHeld = true
        entry.owner = holder
      }
      entry.excuse ??= 'database restored'
    }
  }

  /** The owner has shown the highest number it knows of: from here on nothing up to it may be granted anew (H20). */
  showed(series: Series, device: string, lastMax: number): void {
    for (const [n, entry] of this.#numbers(series)) if (n <= lastMax && entry.owner === device && !entry.wasFree) entry.isForgotten = false
  }

  /** A number in these hands may become a gap. */
  excuse(series: Series, low: number, high: number, why: string): void {
    for (let n = low; n <= high; n++) {
      const entry = this.entry(series, n)
      if (entry) entry.excuse ??= why
    }
  }

  entry(series: Series, n: number): Entry | undefined {
    return this.#series.get(series)?.get(n)
  }

  /** Every number that was ever granted. */
  *entries(): Generator<[series: Series, n: number, entry: Entry]> {
    for (const [series, numbers] of this.#series) for (const [n, entry] of numbers) yield [series, n, entry]
  }

  /** Numbers that nobody issued, that no server has, and that nothing explains. */
  unexplained(): string[] {
    return [...this.entries()].flatMap(([series, n, entry]) =>
      entry.isHeld && !entry.issuedBy && !entry.excuse ? [`${series} ${n} (granted to ${entry.owner})`] : [],
    )
  }

  #tolerate(what: string): void {
    this.tolerated.set(what, (this.tolerated.get(what) ?? 0) + 1)
  }

  #describe({ owner, isHeld, issuedBy }: Entry): string {
    if (issuedBy) return `${issuedBy} had issued it`
    return isHeld ? `${owner} holds it` : `${owner} had given it back`
  }

  #numbers(series: Series): Map<number, Entry> {
    const numbers = this.#series.get(series) ?? new Map()
    this.#series.set(series, numbers)
    return numbers
  }
}

const newEntry = (owner: string): Entry => ({
  owner,
  isHeld: true,
  issuedBy: undefined,
  sharedBy: undefined,
  isForgotten: false,
  wasFree: false,
  isRolledBack: false,
  isDoubled: false,
  excuse: undefined,
})
