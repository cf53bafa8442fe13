/**
 * How short ids stay: the highest number beside how many ids there are, for a fleet's day, pages
 * that come and go, and a shop over weeks.
 */
import { createRandom } from '../../test/simulation/random.js'
import { hiloServer, ravenServer } from '../authorities.js'
import type { DayLog } from '../day-log.js'
import {
  DAY_MS,
  fleetDay,
  fleetDays,
  type Happening,
  importDay,
  terminalDay,
} from '../fleet-day.js'
import { ownDay } from '../own-day.js'
import type { Part } from '../part.js'
import { peerDay } from '../peer-day.js'
import { ravenRules } from '../raven-day.js'
import { requestRules } from '../request-day.js'
import { count, figure, table } from '../text.js'

const SEED = 1
const WORKDAYS = 300
/** Of an imported file, on average. */
const LINES = 2_000

interface Story {
  title: string
  happenings: Happening[]
  devices: number
  days: number
  reserve?: number
}

export const short: Part = {
  name: 'short',
  title: 'Short ids: the highest number beside the ids that were issued',
  measures: ['src', 'server/src'],
  async run({ isQuick, print, goal }) {
    const [devices, tills, loads, days] = isQuick ? [3, 2, 3, 2] : [1_000, 50, 20, 24]
    const random = () => createRandom(SEED)
    const shop = {
      title: `${tills} tills, ${days} days`,
      happenings: fleetDays(days, tills, random()),
      devices: tills,
      days,
    }
    const stories: Story[] = [
      {
        title: `${count(devices)} devices, a day`,
        happenings: fleetDay(devices, random()),
        devices,
        days: 1,
      },
      {
        title: `${count(devices)} terminals, \`reserve: 0\`, ${loads} loads with one id`,
        happenings: terminalDay(devices, loads, random()),
        devices,
        days: 1,
        reserve: 0,
      },
      shop,
      {
        title: `${tills} devices, a file of up to ${count(2 * LINES)} lines each, a day`,
        happenings: importDay(tills, LINES, random()),
        devices: tills,
        days: 1,
      },
    ]
    const highest: string[][] = []
    const requests: string[][] = []
    const ratios: Record<'own' | 'raven', number[]> = { own: [], raven: [] }
    for (const story of stories) {
      const { title, happenings, reserve } = story
      const length = story.days * DAY_MS
      const own = await ownDay(
        happenings,
        story.devices,
        length,
        random(),
        await hiloServer(reserve),
      )
      const onRaven = await ownDay(
        happenings,
        story.devices,
        length,
        random(),
        ravenServer(reserve),
      )
      const logs = [
        own,
        onRaven,
        peerDay(happenings, ravenRules),
        peerDay(happenings, requestRules),
      ]
      highest.push([title, ...logs.map((log) => figure(ratioOf(log)))])
      requests.push([title, ...logs.map((log) => figure(log.requests / log.issued))])
      ratios.own.push(ratioOf(own))
      ratios.raven.push(ratioOf(onRaven))
      if (story !== shop) continue
      const year = logs.map((log) => (log.highest / days) * WORKDAYS)
      highest.push([`highest id there after ${WORKDAYS} such days`, ...year.map(count)])
    }
    const ways = [
      'offline-hilo, its server',
      'offline-hilo, RavenDB',
      "RavenDB's client",
      'a request per id',
    ]
    print(table(['highest number ÷ ids issued', ...ways], highest))
    print(table(['requests ÷ ids issued', ...ways], requests))
    goal('highest number ÷ ids issued, our server', '≤ 1.2', figure(Math.max(...ratios.own)))
    goal('the same on a RavenDB', '≤ 2', figure(Math.max(...ratios.raven)))
  },
}

const ratioOf = ({ highest, issued }: DayLog): number => highest / issued
