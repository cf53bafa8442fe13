/**
 * The claims of one database. Those that are asked for together, or while others are being stored,
 * go to the server in one request. Guarantees that each collection has the id of a request once,
 * and that no claim waits for the answer to another request.
 */
import { HiloError, toFailure } from '../core/errors.js'
import { nextStep } from '../core/failures.js'
import { MOST_CLAIMS } from '../core/wire.js'
import type { Target } from '../device/contract.js'
import type { WantedRange } from '../device/requests.js'
import type { DeviceClaim, GrantedRange } from '../device/state.js'
import type { OwnerContext } from './context.js'

/** A collection's stored claim to send, or the pages that it asks first, or nothing to do. */
export interface Begun {
  claim?: DeviceClaim
  pages?: Set<string>
}

export interface Sent extends Begun {
  /** Absent: nothing was sent. */
  grant?: Promise<GrantedRange>
}

interface Part {
  target: Target
  begin(id: string): Promise<Begun>
  resolve(sent: Sent): void
  reject(error: unknown): void
}

interface Stored {
  part: Part
  claim: DeviceClaim
}

export class ClaimRequests {
  readonly #owner: OwnerContext
  /** Of this page alone. */
  readonly #lock: string
  #gathered: Part[] = []
  #isRunning = false

  constructor(owner: OwnerContext) {
    this.#owner = owner
    this.#lock = `offline-hilo ${owner.world.newId()} gather`
  }

  /**
   * @param begin one transaction, which stores a claim with this id unless one is stored already
   * @param isAlone it is sent by itself
   * @throws HiloError of `begin`
   */
  claim(target: Target, begin: Part['begin'], isAlone: boolean): Promise<Sent> {
    return new Promise((resolve, reject) => {
      const part = { target, begin, resolve, reject }
      if (isAlone) this.#begin([part])
      else {
        this.#gathered.push(part)
        this.open()
      }
    })
  }

  /** Collections ask for their locks in this turn: their claims go together. */
  open(): void {
    if (!this.#isRunning) this.#owner.run(this.#run())
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await undefined
    // Locks are granted in turn: when this one is, all that were free before have been.
    await this.#owner.world.lock(this.#lock, async () => {})
    while (this.#gathered.length > 0) await this.#begin(this.#gathered.splice(0, MOST_CLAIMS))
    this.#isRunning = false
  }

  /** Resolves when all are stored. */
  async #begin(parts: readonly Part[]): Promise<void> {
    const { world } = this.#owner
    const id = world.newId()
    const names = new Set<string>()
    const requests = new Map<string, Stored[]>()
    const begin = async (part: Part, id: string) => {
      const begun = await part.begin(id)
      const { claim } = begun
      if (!claim) return part.resolve(begun)
      const together = requests.get(claim.id) ?? []
      requests.set(claim.id, [...together, { part, claim }])
    }
    const all = parts.map((part) => {
      const name = part.target.collection.toLowerCase()
      // A server ignores the case of names. It would answer a second claim of one collection under
      // one id with the numbers of the first.
      // guard: H11 of names that are one to a server, one shares the id of a claim
      const own = names.has(name) ? world.newId() : id
      names.add(name)
      return begin(part, own).catch(part.reject)
    })
    await Promise.all(all)
    for (const together of requests.values()) this.#send(together)
  }

  /** A collection that is refused in the request claims again alone, and gets the reason. */
  #send(stored: readonly Stored[]): void {
    const { source, signal } = this.#owner
    const wanted = stored.map(({ part: { target }, claim }): WantedRange => ({ target, claim }))
    const isAlone = wanted.length === 1 || signal.aborted
    const answer = isAlone ? Promise.resolve([]) : source.claimTogether!(wanted).catch(refusedAll)
    stored.forEach(({ part, claim }, i) => {
      const grant = answer.then((grants) => {
        signal.throwIfAborted()
        const granted = grants[i] ?? source.claim(part.target, claim)
        if (granted instanceof HiloError) throw granted
        return granted
      })
      part.resolve({ claim, grant })
    })
  }
}

/** @throws unless it may be for one collection that the whole request was refused */
function refusedAll(error: unknown): [] {
  const step = nextStep(toFailure(error, 'storage-failed'))
  if (step === 'same' || step === 'stop') throw error
  return []
}
