/** The arithmetic of the number line: to scale, zoomed, and never beyond its ends. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  closeUp,
  pan,
  place,
  reveal,
  ticks,
  type Viewport,
  whole,
  zoom,
} from '../../../src/addons/inspector/number-line.js'

const all: Viewport = { start: 1, end: 1_001 }

describe('the whole line', () => {
  test('goes from the lowest number to the highest, wherever they stand', () => {
    expect(
      whole([
        { from: 33, to: 64 },
        { from: 1, to: 2 },
        { from: 900, to: 1_000 },
      ]),
    ).toEqual({ start: 1, end: 1_001 })
  })

  test('is never so short that a number fills it', () => {
    expect(whole([{ from: 5, to: 5 }])).toEqual({ start: 5, end: 13 })
    expect(whole([])).toEqual({ start: 1, end: 9 })
  })
})

describe('numbers', () => {
  test('are drawn to scale', () => {
    expect(place({ from: 1, to: 100 }, all)).toEqual({ left: 0, width: 10 })
    expect(place({ from: 501, to: 1_000 }, all)).toEqual({ left: 50, width: 50 })
    expect(place({ from: 7, to: 7 }, all)!.width).toBeCloseTo(0.1)
  })

  test('are cut where the view ends, and not drawn beyond it', () => {
    const view = { start: 101, end: 201 }
    expect(place({ from: 51, to: 150 }, view)).toEqual({ left: 0, width: 50 })
    expect(place({ from: 151, to: 999 }, view)).toEqual({ left: 50, width: 50 })
    expect(place({ from: 1, to: 100 }, view)).toBeUndefined()
    expect(place({ from: 201, to: 300 }, view)).toBeUndefined()
  })
})

describe('zooming', () => {
  test('keeps the point that it is about where it is', () => {
    expect(zoom(all, 0.5, 0.25, all)).toEqual({ start: 126, end: 626 })
  })

  test('comes no closer than 8 numbers', () => {
    expect(zoom({ start: 100, end: 110 }, 0.1, 0, all)).toEqual({ start: 100, end: 108 })
  })

  test('away ends with everything, whatever comes later', () => {
    expect(zoom({ start: 100, end: 900 }, 2, 0.5, all)).toBeUndefined()
  })

  test('and moving never leave the line', () => {
    const point = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 5, noNaN: true }),
        point,
        fc.double({ min: -3, max: 3, noNaN: true }),
        (factor, at, share) => {
          const zoomed = zoom(all, factor, at, all) ?? all
          const moved = pan(zoomed, share, all) ?? all
          for (const { start, end } of [zoomed, moved]) {
            expect(start).toBeGreaterThanOrEqual(all.start - 1e-6)
            expect(end).toBeLessThanOrEqual(all.end + 1e-6)
            expect(end - start).toBeGreaterThanOrEqual(8 - 1e-6)
          }
          expect(moved.end - moved.start).toBeCloseTo(zoomed.end - zoomed.start)
        },
      ),
    )
  })

  test('to a piece shows it in the middle of twice its size, and of 8 numbers at least', () => {
    expect(closeUp({ from: 101, to: 200 }, all)).toEqual({ start: 51, end: 251 })
    expect(closeUp({ from: 500, to: 500 }, all)).toEqual({ start: 496.5, end: 504.5 })
    expect(closeUp({ from: 1, to: 10 }, all)).toEqual({ start: 1, end: 21 })
  })
})

describe('moving to a piece', () => {
  const view = { start: 101, end: 201 }

  test('that is seen, even in part, moves nothing', () => {
    expect(reveal(view, { from: 150, to: 160 }, all)).toBe(view)
    expect(reveal(view, { from: 200, to: 400 }, all)).toBe(view)
  })

  test('that is not brings it to the middle', () => {
    expect(reveal(view, { from: 300, to: 319 }, all)).toEqual({ start: 260, end: 360 })
    expect(reveal(view, { from: 2, to: 3 }, all)).toEqual({ start: 1, end: 101 })
  })
})

describe('the scale', () => {
  test('has round numbers, each at its middle', () => {
    expect(ticks(all, 6).map(({ number }) => number)).toEqual([200, 400, 600, 800, 1_000])
    expect(ticks({ start: 1, end: 11 }, 10)).toContainEqual({ number: 1, at: 5 })
  })

  test('has at most so many, rising, all seen, however far or close', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 50 }),
        fc.integer({ min: 8, max: 2 ** 40 }),
        fc.integer({ min: 2, max: 20 }),
        (start, size, count) => {
          const marks = ticks({ start, end: start + size }, count)
          expect(marks.length).toBeLessThanOrEqual(count + 1)
          for (const [i, { number, at }] of marks.entries()) {
            expect(Number.isInteger(number)).toBe(true)
            expect(number).toBeGreaterThan(marks[i - 1]?.number ?? 0)
            expect(at).toBeGreaterThanOrEqual(0)
            expect(at).toBeLessThanOrEqual(100)
          }
        },
      ),
    )
  })
})
