/** Line plots as SVG text, with only what the benches need. */

interface Axis {
  label: string
  isLogarithmic?: boolean
}

export interface Plot {
  title: string
  x: Axis
  y: Axis
  series: { name: string; points: readonly (readonly [x: number, y: number])[] }[]
}

const WIDTH = 640
const HEIGHT = 360
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 20, 60, 50]
/** People who see colours differently can tell these apart, too. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00']

export function plot({ title, x, y, series }: Plot): string {
  const points = series.flatMap((each) => each.points)
  const across = scale(
    x,
    points.map(([value]) => value),
    LEFT,
    WIDTH - RIGHT,
  )
  const up = scale(
    y,
    points.map(([, value]) => value),
    HEIGHT - BOTTOM,
    TOP,
  )
  const lines = series.map(({ points }, i) => {
    const path = points.map(([px, py]) => `${round(across.at(px))},${round(up.at(py))}`)
    const dots = path
      .map((point) => `<circle cx="${point.replace(',', '" cy="')}" r="3"/>`)
      .join('')
    return (
      `<g stroke="${colour(i)}" fill="${colour(i)}"><polyline fill="none" stroke-width="2" ` +
      `points="${path.join(' ')}"/>${dots}</g>`
    )
  })
  const legend = series.map(
    ({ name }, i) =>
      `<g><rect x="${LEFT + i * legendStep(series.length)}" y="36" ` +
      `width="10" height="10" fill="${colour(i)}"/>` +
      `<text x="${LEFT + 14 + i * legendStep(series.length)}" y="45">${escaped(name)}</text></g>`,
  )
  const columns = across.ticks.map(
    (tick) =>
      `<line x1="${round(across.at(tick))}" x2="${round(across.at(tick))}" ` +
      `y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#ddd"/>` +
      `<text x="${round(across.at(tick))}" y="${HEIGHT - BOTTOM + 18}" ` +
      `text-anchor="middle">${short(tick)}</text>`,
  )
  const rows = up.ticks.map(
    (tick) =>
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" ` +
      `y1="${round(up.at(tick))}" y2="${round(up.at(tick))}" stroke="#ddd"/>` +
      `<text x="${LEFT - 8}" y="${round(up.at(tick)) + 4}" text-anchor="end">${short(tick)}</text>`,
  )
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" ` +
      'font-family="sans-serif" font-size="12" fill="#333">',
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="24" font-size="15">${escaped(title)}</text>`,
    ...legend,
    ...columns,
    ...rows,
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 12}" ` +
      `text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" ` +
      `text-anchor="middle">${escaped(y.label)}</text>`,
    ...lines,
    '</svg>',
  ].join('\n')}\n`
}

interface Scale {
  /** Where a value lies. */
  at(value: number): number
  ticks: number[]
}

function scale({ isLogarithmic = false }: Axis, values: number[], from: number, to: number): Scale {
  const ticks = isLogarithmic ? powers(values) : steps(Math.max(...values))
  const position = isLogarithmic ? Math.log10 : (value: number) => value
  const [low, high] = [position(ticks[0]!), position(ticks.at(-1)!)]
  return { at: (value) => from + ((position(value) - low) / (high - low)) * (to - from), ticks }
}

/** Powers of ten around all values; at least two. */
function powers(values: number[]): number[] {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
}

/** Round numbers from 0 on, with four to eight steps. */
function steps(most: number): number[] {
  const rough = (most || 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [5, 2, 1].map((factor) => factor * power).find((each) => each <= rough)!
  return Array.from({ length: Math.ceil((most || 1) / step) + 1 }, (_, i) => i * step)
}

const legendStep = (count: number): number => (WIDTH - LEFT - RIGHT) / count
const colour = (i: number): string => COLOURS[i % COLOURS.length]!
const round = (value: number): number => Math.round(value * 10) / 10
const short = (value: number): string =>
  Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value)
const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')
