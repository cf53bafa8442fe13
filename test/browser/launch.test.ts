/** What is said when a browser had to be started a second time. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { atMostTwice } from './launch.js'

test('a repeated launch is told with its reason, and a second failure is final', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  const launch = vi.fn().mockRejectedValueOnce('no display').mockResolvedValueOnce('a browser')
  expect(await atMostTwice(launch)).toBe('a browser')
  expect(write.mock.calls.flat()).toEqual([
    'A browser did not start, and is started once more: no display\n',
  ])
  await expect(atMostTwice(launch.mockRejectedValue('no display'))).rejects.toBe('no display')
  expect(launch).toHaveBeenCalledTimes(4)
})
