/** An authority in memory: with tokens like this package's server, without them like RavenDB. */
import type { Range } from '../../src/core/range.js'
import type { CheckInAnswer, CheckInRequest } from '../../src/core/wire.js'
import type { DeviceClaim, GrantedRange } from '../../src/device/state.js'

interface Grant {
  from: number
  to: number
  /** The lowest number that is not known to be issued. */
  next: number
}

export class ServerModel {
  readonly hasTokens: boolean
  #max = 0
  readonly #grants = new Map<string, Grant>()
  readonly #claims = new Map<string, GrantedRange>()
  readonly #checkIns = new Map<string, CheckInAnswer>()
  readonly #free: { from: number; to: number }[] = []
  #tokens = 0

  constructor(hasTokens: boolean) {
    this.hasTokens = hasTokens
  }

  grant(claim: DeviceClaim, count: number): GrantedRange {
    const before = this.#claims.get(claim.id)
    if (before && this.hasTokens) return before
    const range = this.#free.pop() ?? this.#advance(claim.lastMax, count)
    const token = this.hasTokens ? this.#newToken({ ...range, next: range.from }) : undefined
    const grant = {
      range: { ...range, prefix: 'orders/', serverTag: 'A', ...(token && { token }) },
    }
    this.#claims.set(claim.id, grant)
    return grant
  }

  /** @returns whether the server took it back */
  giveBack({ from, to, token }: Range): boolean {
    if (token === undefined) {
      if (this.#max === to) this.#max = from - 1
      return true
    }
    const grant = this.#grants.get(token)
    if (!grant || grant.to !== to || from < grant.next) return false
    grant.to = from - 1
    this.#free.push({ from, to })
    return true
  }

  /** What was told to be issued does not come back. */
  checkIn({ id, grants, spent = [] }: CheckInRequest): CheckInAnswer {
    for (const token of spent) this.#tell(token, Number.POSITIVE_INFINITY)
    for (const { token, next } of grants) this.#tell(token, next)
    const answer = this.#checkIns.get(id) ?? {
      grants: grants.map(({ token }) => this.#rotate(token)),
    }
    this.#checkIns.set(id, answer)
    return answer
  }

  #tell(token: string, next: number): void {
    const grant = this.#grants.get(token)
    if (grant) grant.next = Math.max(grant.next, next)
  }

  #rotate(token: string): CheckInAnswer['grants'][number] {
    const grant = this.#grants.get(token)
    if (!grant) return { superseded: true }
    this.#grants.delete(token)
    return { token: this.#newToken(grant), high: grant.to }
  }

  #newToken(grant: Grant): string {
    const token = `token${this.#tokens++}`
    this.#grants.set(token, grant)
    return token
  }

  #advance(lastMax: number, count: number): { from: number; to: number } {
    const from = Math.max(this.#max, lastMax) + 1
    this.#max = from + count - 1
    return { from, to: this.#max }
  }
}
