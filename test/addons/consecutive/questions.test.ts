/** A question to the server that is asked while an older one is under way. */
import { expect, test, vi } from 'vitest'
import type { Online } from '../../../src/addons/consecutive/online.js'
import { Series } from '../../../src/addons/consecutive/series.js'
import type { SeriesStorage } from '../../../src/addons/consecutive/storage.js'
import { eventually } from '../../support/eventually.js'

/** A device with series T3, whose requests the test answers one after another. */
function openSeries() {
  const asked: { resolve(isBehind: boolean): void; reject(error: Error): void }[] = []
  const tell = () => new Promise<boolean>((resolve, reject) => void asked.push({ resolve, reject }))
  const begin = vi.fn(async () => {})
  const online = { tell, begin } as unknown as Online
  const storage = { current: async () => ({ held: { series: 'T3' } }) } as unknown as SeriesStorage
  const { signal } = new AbortController()
  const isSwitchedOn = () => true
  const series = new Series({ storage, signal, online: async () => online, isSwitchedOn })
  return { series, asked, begin }
}

const untilAsked = (asked: readonly unknown[], count: number) =>
  eventually(() => expect(asked).toHaveLength(count))

test('a network that comes is asked, also while an older question fails', async () => {
  const { series, asked } = openSeries()
  series.look()
  await untilAsked(asked, 1)
  series.look()
  asked[0]!.reject(new Error('There was no network.'))
  await untilAsked(asked, 2)
})

test('a series that was closed meanwhile gives way: no older answer counts', async () => {
  const { series, asked, begin } = openSeries()
  series.look()
  await untilAsked(asked, 1)
  const prepared = series.prepare({ device: 'Till 3', series: 'T4' })
  asked[0]!.resolve(false)
  await untilAsked(asked, 2)
  expect(begin).not.toHaveBeenCalled()
  asked[1]!.resolve(false)
  await prepared
  expect(begin).toHaveBeenCalledOnce()
})
