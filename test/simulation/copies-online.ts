/**
 * Copies of a profile that are online (H13). Each claim has to show the newest token that its
 * device has. Where a copy of the device has shown that token before, the server has to say so: two
 * copies that are online are told apart by the second claim.
 */
import { tokenToShow } from '../../src/device/check-in.js'
import type { DeviceState } from '../../src/device/state.js'

export class CopiesOnline {
  /**
   * By device and collection: the devices that its storage was copied from or to, and the grants
   * whose tokens they have shown since.
   */
  readonly #copies = new Map<string, { group: Set<string>; shown: Set<string> }>()
  /**
   * By the key of a claim: the device that began it, and the grant of its newest token, if it has
   * one and no check-in is under way.
   */
  readonly #claims = new Map<string, { who: string; newest: string | undefined }>()
  readonly #begun = new Set<string>()
  /** The check-in that a device has stored, by device and collection. */
  readonly #checkIns = new Map<string, string>()
  /** Claims and check-ins that both copies have stored: the same answer to both shows no copy. */
  readonly #shared = new Set<string>()

  copied(series: string, original: string, copy: string): void {
    const group = new Set([`${original} ${series}`, `${copy} ${series}`])
    for (const who of group) this.#copies.set(who, { group, shown: new Set() })
    const checkIn = this.#checkIns.get(`${original} ${series}`)
    if (checkIn !== undefined) {
      this.#shared.add(checkIn)
      this.#checkIns.set(`${copy} ${series}`, checkIn)
    }
    for (const [id, { who }] of this.#claims) {
      if (!group.has(who)) continue
      this.#claims.delete(id)
      this.#shared.add(id)
    }
  }

  /** Its storage is gone, and all tokens with it. */
  evicted(device: string): void {
    for (const who of this.#copies.keys())
      if (who.startsWith(`${device} `)) this.#copies.delete(who)
  }

  /**
   * A device has stored this state.
   * @param claimed the key of the claim in it
   */
  stored(series: string, device: string, state: DeviceState, claimed: string | undefined): void {
    const { checkIn, claim, ...rest } = state
    const newest = tokenToShow(rest)?.at(0)?.token
    const who = `${device} ${series}`
    if (checkIn) this.#checkIns.set(who, checkIn.id)
    else this.#checkIns.delete(who)
    if (!claimed || this.#begun.has(claimed)) return
    this.#begun.add(claimed)
    const canTell = newest !== undefined && !checkIn
    this.#claims.set(claimed, { who, newest: canTell ? grantOf(newest) : undefined })
  }

  /**
   * The server has answered a claim or a check-in.
   * @param isFound was the device told that it is a copy?
   * @returns whether it should have been told, and was not
   */
  answered(id: string, device: string, tokens: readonly string[], isFound: boolean): boolean {
    const { who, newest } = this.#claims.get(id) ?? {}
    if (isFound) {
      this.evicted(device)
      return false
    }
    for (const [name, { shown }] of this.#copies)
      if (name.startsWith(`${device} `) && !this.#shared.has(id))
        for (const token of tokens) shown.add(grantOf(token))
    const copy = who === undefined ? undefined : this.#copies.get(who)
    if (!copy || newest === undefined) return false
    return [...copy.group].some(
      (other) =>
        other !== who &&
        this.#copies.get(other)?.group === copy.group &&
        this.#copies.get(other)!.shown.has(newest),
    )
  }
}

const grantOf = (token: string): string => token.split('.')[0]!
