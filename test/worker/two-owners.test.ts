/** What happens where a transition of the device's state is wrong, whatever transition that is. */
import { expect, test, vi } from 'vitest'
import type { exchange } from '../../src/device/device.js'
import { emptyState } from '../../src/device/state.js'
import { range } from '../support/ranges.js'
import { exchangeOf, FakeSource, FakeWorld, failureOf, ownerIn, target } from '../support/world.js'

vi.mock('../../src/device/device.js', async (original) => ({
  ...(await original<object>()),
  /** It leases the first range, and leaves it free for the next page. */
  exchange: ((state, { id, page }) => {
    const leases = [{ id: `${id}.0`, page, range: state.ranges[0]! }]
    return { state: { ...state, leases }, leases, offers: [], outstanding: [] }
  }) satisfies typeof exchange,
}))

test('a state in which a number has two owners is not stored; no id is handed out', async () => {
  const world = new FakeWorld({ source: new FakeSource() })
  const before = { ...emptyState(), ranges: [range(1, 100)] }
  await world.put(before)
  const { owner } = ownerIn(world)
  expect(failureOf(await owner.exchange(target, exchangeOf({ want: 16 })))).toMatchObject({
    code: 'storage-failed',
    message: expect.stringContaining('two owners'),
  })
  expect(await world.stored()).toEqual(before)
})
