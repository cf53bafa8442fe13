/**
 * Sends the claims of one database. Claims that are made together, or while others are being
 * stored, go in one request. Guarantees that a collection is in a request once, and that no claim
 * waits for the answer to another request.
 */
import { HiloError, toFailure } from '../core/errors.js'
import { nextStep } from '../core/failures.js'
import { MOST_CLAIMS } from '../core/wire.js'
import type { Target } from '../device/contract.js'
import type { WantedRange } from '../device/requests.js'
import type { DeviceClaim, GrantedRange } from '../device/state.js'
import type { OwnerContext } from './context.js'

/**
 * The stored claim of a collection, or the pages to ask before it claims. Neither: nothing to do.
 */
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

export type ClaimRequests = ReturnType<typeof newClaimRequests>

export function newClaimRequests({ world, source, signal, run }: OwnerContext) {
  /** Of this page alone. */
  const lock = `offline-hilo ${world.newId()} gather`
  const gathered: Part[] = []
  let isRunning = false

  async function gather(): Promise<void> {
    isRunning = true
    await undefined
    // Locks are granted in turn: when this one is, all that were free before have been.
    await world.lock(lock, async () => {})
    while (gathered.length > 0) await beginAll(gathered.splice(0, MOST_CLAIMS))
    isRunning = false
  }

  /** Resolves when all are stored. */
  async function beginAll(parts: readonly Part[]): Promise<void> {
    const id = world.newId()
    const names = new Set<string>()
    const requests = new Map<string, Stored[]>()
    const store = async (part: Part, id: string) => {
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
      return store(part, own).catch(part.reject)
    })
    await Promise.all(all)
    for (const together of requests.values()) send(together)
  }

  /**
   * A collection that is refused in a common request claims again by itself, to learn the reason. A
   * refusal by another ledger says the reason already.
   */
  function send(stored: readonly Stored[]): void {
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

  /** To be called before a lock: all that ask for their locks in the same turn claim together. */
  function open(): void {
    if (!isRunning) void run(gather())
  }

  return {
    open,
    /**
     * @param begin one transaction, which stores a claim with this id unless one is stored already
     * @param isAlone the claim is sent in a request of its own
     * @throws HiloError of `begin`
     */
    claim: (target: Target, begin: Part['begin'], isAlone: boolean): Promise<Sent> =>
      new Promise((resolve, reject) => {
        const part = { target, begin, resolve, reject }
        if (isAlone) return beginAll([part])
        gathered.push(part)
        open()
      }),
  }
}

/** @throws the error, unless a single collection may be why the whole request was refused */
function refusedAll(error: unknown): [] {
  const step = nextStep(toFailure(error, 'storage-failed'))
  if (step === 'same' || step === 'stop') throw error
  return []
}
