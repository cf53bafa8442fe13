/**
 * Hours in which nobody touches any page, and what is broken stays broken: for example, a server is
 * down overnight. Each device must send less and less. Otherwise the devices of all users together
 * would keep the server down when it comes back.
 */
import type { Request } from './network.js'
import type { Simulation } from './simulation.js'

const HOUR_MS = 3_600_000
/** By then every pause has grown to its longest: 1 + 2 + 4 + … + 32 minutes for a check-in. */
const SETTLING_MS = 1.2 * HOUR_MS
/** Often before the ending. A fault that comes again and again shows in one night. */
const PROBABILITY = 0.1

/**
 * What one page or worker may send within an hour, for each of its collections. A claim is repeated
 * after half a minute to a minute, and each may be two requests. A check-in falls due every few
 * hours, so the first of its pauses may lie in this hour: 8 tries, of two requests each.
 */
const MOST_PER_HOUR = { next: 260, checkin: 16 }

export class QuietHours {
  #sent: Map<string, number> | undefined

  /** Counts the requests of the quiet hours. */
  saw({ sender, url }: Request): void {
    const route = url.pathname.split('/').at(-1)!
    const what = `${sender} ${route}`
    this.#sent?.set(what, (this.#sent.get(what) ?? 0) + 1)
  }

  async pass(simulation: Simulation): Promise<void> {
    const { random, scheduler, profile, checker, driver } = simulation
    if (simulation.isClean || !random.chance(PROBABILITY)) return
    simulation.hit('quiet hours')
    scheduler.note(driver, '— nobody touches anything —')
    await scheduler.runUntil(scheduler.now + SETTLING_MS)
    this.#sent = new Map()
    await scheduler.runUntil(scheduler.now + HOUR_MS)
    for (const [what, count] of this.#sent) {
      const most = Object.entries(MOST_PER_HOUR).find(([route]) => what.endsWith(` ${route}`))?.[1]
      if (most !== undefined && count > most * profile.collections.length)
        checker.complain(`${what}: ${count} requests in an hour in which nobody did anything`)
    }
    this.#sent = undefined
  }
}
