/**
 * A deadline for an answer. While a page is frozen in the back/forward cache, or a computer sleeps,
 * no answer is heard, and the time passes. So the deadline is several timers in a row: a freeze can
 * use up one of them only.
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
