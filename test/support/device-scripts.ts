/** What can happen to a {@link DeviceModel}, and scripts of it. */
import fc from 'fast-check'
import type { DeviceModel } from './device-model.js'

type Act = (device: DeviceModel, pick: number, count: number, a: boolean, b: boolean) => void

/** Often what apps do often, and everything else that can happen in between. */
export const ACTS: Record<string, Act> = {
  issue: (device, pick, count) => device.issue(pick, count),
  exchange: (device, pick, count, a, b) => device.exchange(pick, count, a, b && count % 5 === 0),
  exchangeUnheard: (device, pick, count, a, b) => device.exchangeUnheard(pick, count, a, b),
  runLate: (device, pick) => device.runLate(pick),
  claim: (device, _, count) => device.claim(count, 1 + count),
  takeAnswer: (device, pick, _, a) => device.takeAnswer(pick, a),
  park: (device, pick) => device.park(pick),
  leave: (device, pick, _, a) => device.leave(pick, a),
  giveBackArrives: (device, pick, _, a) => device.giveBackArrives(pick, a),
  settle: (device, pick, _, a) => device.settle(pick, a),
  checkIn: (device) => device.checkIn(),
  takeCheckIn: (device, pick, _, a) => device.takeCheckIn(pick, a),
  kill: (device, pick) => device.kill(pick),
  writeOffPages: (device, pick) => device.writeOffPages(pick),
  issueElsewhere: (device, _, count) => device.issueElsewhere(1 + (count % 7)),
}

export const scripts = fc.array(
  fc.tuple(
    fc.constantFrom(
      ...Object.keys(ACTS),
      'issue',
      'exchange',
      'exchange',
      'claim',
      'takeAnswer',
      'settle',
    ),
    fc.nat(99),
    fc.nat(20),
    fc.boolean(),
    fc.boolean(),
  ),
  { maxLength: 120, size: 'max' },
)
