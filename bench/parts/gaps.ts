/**
 * What a fleet's day costs with this package and with other ways to make ids: numbers burnt, ids
 * that cannot be made offline, ids made twice, requests.
 */
import { createRandom } from '../../test/simulation/random.js'
import { hiloServer } from '../authorities.js'
import type { DayLog } from '../day-log.js'
import { DAY_MS, fleetDay, type Happening } from '../fleet-day.js'
import { ownDay } from '../own-day.js'
import type { Part } from '../part.js'
import { peerDay } from '../peer-day.js'
import { ravenRules } from '../raven-day.js'
import { requestRules } from '../request-day.js'
import { count, figure, table, times } from '../text.js'

const SEED = 1

export const gaps: Part = {
  name: 'gaps',
  title: 'Gaps: numbers burnt in a day of a fleet',
  measures: ['src', 'server/src'],
  async run({ isQuick, print, goal }) {
    const devices = isQuick ? 5 : 1_000
    const day = fleetDay(devices, createRandom(SEED))
    const own = await ownDay(day, devices, DAY_MS, createRandom(SEED), await hiloServer())
    const raven = peerDay(day, ravenRules)
    const ways: [name: string, log: DayLog][] = [
      ['offline-hilo', own],
      ["RavenDB's client", raven],
      ['a request per id', peerDay(day, requestRules)],
    ]
    const countOf = (...kinds: Happening['what'][]) =>
      count(day.filter(({ what }) => kinds.includes(what)).length)
    print(
      `${count(devices)} devices: ${countOf('open', 'reload')} starts and reloads, ` +
        `${countOf('die')} killed apps, two devices in five offline for a part of ` +
        `the day, ${countOf('copy')} set up from a copy of another one's profile; seed ${SEED}.`,
    )
    const row = (title: string, of: (log: DayLog) => number, show = count) => [
      title,
      ...ways.map(([, log]) => show(of(log))),
    ]
    print(
      table(
        ['', ...ways.map(([name]) => name)],
        [
          row('numbers burnt per id issued', burntPerId, figure),
          row('numbers burnt', ({ burnt }) => burnt),
          row('ids issued', ({ issued }) => issued),
          row('ids refused, offline', ({ refused }) => refused),
          row('ids issued twice', ({ duplicates }) => duplicates),
          row('requests', ({ requests }) => requests),
        ],
      ),
    )
    goal(
      `numbers burnt in a day of ${count(devices)} devices, fewer than with the rules of ` +
        `RavenDB's clients`,
      '≥ 20 ×',
      times(burntPerId(raven) / burntPerId(own)),
    )
  },
}

const burntPerId = ({ issued, burnt }: Pick<DayLog, 'issued' | 'burnt'>): number => burnt / issued
