/**
 * The geometry of a number line: which part of it is visible, and where numbers are on it. Pure.
 */

/** The visible part. Number `n` fills the line from `n` to `n + 1`. */
export interface Viewport {
  start: number
  end: number
}

interface Span {
  from: number
  to: number
}

/** No closer than this, so that single numbers stay apart and readable. */
const LEAST_SPAN = 8

/** Everything. */
export function whole(segments: readonly Span[]): Viewport {
  if (segments.length === 0) return { start: 1, end: 1 + LEAST_SPAN }
  const start = Math.min(...segments.map(({ from }) => from))
  const end = Math.max(...segments.map(({ to }) => to)) + 1
  return { start, end: Math.max(end, start + LEAST_SPAN) }
}

/**
 * @param factor of the visible part: below 1 zooms in
 * @param at the point that stays in place, as a share of the line
 * @returns undefined: everything is visible
 */
export function zoom(
  view: Viewport,
  factor: number,
  at: number,
  all: Viewport,
): Viewport | undefined {
  const span = Math.max((view.end - view.start) * factor, LEAST_SPAN)
  const fixed = view.start + (view.end - view.start) * at
  return within({ start: fixed - span * at, end: fixed + span * (1 - at) }, all)
}

/** @param share of the line, to the right when positive */
export function pan(view: Viewport, share: number, all: Viewport): Viewport | undefined {
  const shift = (view.end - view.start) * share
  return within({ start: view.start + shift, end: view.end + shift }, all)
}

/** The same view if some of the numbers are visible, otherwise one with them in the middle. */
export function reveal(view: Viewport, numbers: Span, all: Viewport): Viewport | undefined {
  if (place(numbers, view)) return view
  return pan(
    view,
    ((numbers.from + numbers.to + 1) / 2 - view.start) / (view.end - view.start) - 0.5,
    all,
  )
}

/** The numbers, in the middle of twice as many. */
export function closeUp({ from, to }: Span, all: Viewport): Viewport | undefined {
  const size = to + 1 - from
  const margin = Math.max(size, LEAST_SPAN - size) / 2
  return within({ start: from - margin, end: to + 1 + margin }, all)
}

/** Percent of the line; undefined if the numbers are not visible. */
export function place(
  { from, to }: Span,
  { start, end }: Viewport,
): { left: number; width: number } | undefined {
  const left = Math.max(from, start)
  const right = Math.min(to + 1, end)
  if (left >= right) return undefined
  const percent = 100 / (end - start)
  return { left: (left - start) * percent, width: (right - left) * percent }
}

/** At most `count` visible round numbers, and the percent of the line where each has its middle. */
export function ticks({ start, end }: Viewport, count: number): { number: number; at: number }[] {
  const rough = (end - start) / count
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((nice) => nice * magnitude).find((nice) => nice >= rough)!,
  )
  const marks: { number: number; at: number }[] = []
  for (let number = Math.ceil(start / step) * step; number + 1 <= end; number += step)
    marks.push({ number, at: ((number + 0.5 - start) * 100) / (end - start) })
  return marks
}

function within({ start, end }: Viewport, all: Viewport): Viewport | undefined {
  const span = end - start
  if (span >= all.end - all.start) return undefined
  const first = Math.min(Math.max(start, all.start), all.end - span)
  return { start: first, end: first + span }
}
