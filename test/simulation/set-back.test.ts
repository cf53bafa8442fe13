/** Why a device that went back, or a copy, may make a number again. */
import { expect, test } from 'vitest'
import { BesideCopy } from './beside-copy.js'
import type { Device } from './device.js'
import { whyBothMake } from './set-back.js'
import type { Simulation } from './simulation.js'

const SERIES = 'orders-A'

const device = (name: string, setBackAt: number, isDisturbed = false) =>
  ({ name, setBackAt, wasDisturbedSince: () => isDisturbed }) as unknown as Device

const worldOf = (...devices: Device[]) =>
  ({
    devices,
    profile: { nodes: ['A'] },
    wasRestored: false,
    besideCopy: new BesideCopy(),
  }) as unknown as Simulation

test('a device that went back is not excused because another one cannot be heard', () => {
  const why = 'made again where more is broken'
  const world = worldOf(device('a', 100), device('b', 200, true))
  expect(whyBothMake(world, SERIES, 5, why, ['b'])).toBe(why)
  expect(whyBothMake(world, SERIES, 5, why, ['a'])).toBeUndefined()
})
