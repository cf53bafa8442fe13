/**
 * A deadline for whoever should have answered. A page that lies frozen in the back/forward cache,
 * or a computer that sleeps, hears no answer either: that time counts as a fraction of the deadline
 * at most, so that nobody is given up for it.
 */

/**
 * The timer is set again so many times: what a freeze took is over with the first that goes off
 * after it.
 */
// guard: H16 time in the back/forward cache is no delay
const PARTS = 4

/** @returns cancels it */
export function whenLate(milliseconds: number, late: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (parts: number) => {
    timer = setTimeout(() => (parts > 1 ? wait(parts - 1) : late()), milliseconds / PARTS)
  }
  wait(PARTS)
  return () => clearTimeout(timer)
}
