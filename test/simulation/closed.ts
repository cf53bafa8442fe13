/**
 * What `close()` promises: the instance gives no id any more, and some time later nothing of it is
 * left in its page, neither a worker nor an owner in the page itself.
 */
import type { Hilo } from '../../src/client/hilo.js'
import type { Page } from './device.js'
import type { Simulation } from './simulation.js'

/** Longer than a request may take. */
export const CLOSED_MS = 60_000

/** The app calls `close()`. */
export async function close(simulation: Simulation, page: Page): Promise<void> {
  const { scheduler, driver } = simulation
  const { hilo } = page
  await hilo.close()
  if (hilo !== page.hilo) return
  page.closedAt = scheduler.awake
  scheduler.post(driver, CLOSED_MS, 'looks at what was closed', () => look(simulation, page, hilo))
}

/** Checks no page that was opened again, closed again, ended or frozen meanwhile. */
function look({ scheduler, checker }: Simulation, page: Page, hilo: Hilo): void {
  const isClosed = hilo === page.hilo && page.isAlive
  if (!isClosed || scheduler.awake - page.closedAt < CLOSED_MS) return
  const { actor, device, workers, name } = page
  const { databases, surroundings } = device
  const left = [
    ...(workers.some((worker) => worker.actor.state !== 'dead') ? ['a worker'] : []),
    ...([...databases.connections].some((each) => each.actor === actor) ? ['a database'] : []),
    ...(surroundings.broadcasts.isOpen(actor) ? ['a channel'] : []),
  ]
  if (left.length > 0) checker.complain(`${name} is closed, and has ${left.join(' and ')} open`)
}
