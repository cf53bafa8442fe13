/**
 * How many numbers a fleet's day burns: with this package, and with the rules of RavenDB's own
 * clients.
 */
import { createRandom } from '../../test/simulation/random.js'
import type { DayLog } from '../day-log.js'
import { DAY_MS, fleetDay } from '../fleet-day.js'
import { ownDay } from '../own-day.js'
import type { Part } from '../part.js'
import { ravenDay } from '../raven-day.js'
import { count, figure, table, times } from '../text.js'

const SEED = 1

export const gaps: Part = {
  name: 'gaps',
  title: 'Gaps: numbers burnt in a day of a fleet',
  async run({ isQuick, print, goal, draw }) {
    const devices = isQuick ? 5 : 1_000
    const day = fleetDay(devices, createRandom(SEED))
    const own = await ownDay(day, devices, DAY_MS, createRandom(SEED))
    const raven = ravenDay(day, devices, DAY_MS)
    const starts = day.filter(({ what }) => what === 'open' || what === 'reload').length
    const deaths = day.filter(({ what }) => what === 'die').length
    print(
      `${count(devices)} devices: ${count(starts)} starts and reloads, ` +
        `${count(deaths)} ends without a last word, ` +
        `two devices in five offline for a part of the day; seed ${SEED}.`,
    )
    const row = (title: string, of: (log: DayLog) => number, show: (value: number) => string) => [
      title,
      times(of(raven) / of(own)),
      show(of(own)),
      show(of(raven)),
    ]
    print(
      table(
        ['', 'ratio', 'offline-hilo', "RavenDB's client"],
        [
          row('numbers burnt per id issued', burntPerId, figure),
          row('numbers burnt', ({ burnt }) => burnt, count),
          row('ids issued', ({ issued }) => issued, count),
          row('ids refused, offline', ({ refused }) => refused, count),
          row('claims', ({ claims }) => claims, count),
        ],
      ),
    )
    const series = (name: string, { hours }: DayLog) => ({
      name,
      points: hours.map((hour, i): [number, number] => [i + 1, burntPerId(hour)]),
    })
    goal(
      `numbers burnt in a day of ${count(devices)} devices, fewer than with the rules of ` +
        `RavenDB's clients`,
      '≥ 20 ×',
      times(burntPerId(raven) / burntPerId(own)),
    )
    draw('bench-gaps', {
      title: `Numbers burnt per id issued, ${count(devices)} devices`,
      x: { label: 'hours' },
      y: { label: 'burnt per id' },
      series: [series('offline-hilo', own), series("RavenDB's client rules", raven)],
    })
  },
}

const burntPerId = ({ issued, burnt }: Pick<DayLog, 'issued' | 'burnt'>): number =>
  issued === 0 ? 0 : burnt / issued
