/** Each known fault is there: an entry whose fault was mended has to go. */
import { expect, test } from 'vitest'
import { tell } from './play.js'
import { story } from './report.js'
import { knownFaults } from './words.js'

test('the checker finds each of them', async () => {
  for (const [word, { seed, says }] of knownFaults()) {
    const [without] = await tell([seed], { words: [] })
    const [outcome] = await tell([seed], { words: [word] })
    expect(without!.violations).toEqual([])
    const found = outcome!.violations.filter((each) => says.test(each))
    if (found.length === 0 || found.length < outcome!.violations.length)
      expect.fail(
        `Seed ${seed} does not show the fault of ${word}, or another one, too. Look for another ` +
          `seed: npm run simulate -- --word ${word} --until-failure. If there is none, the fault ` +
          `is mended: remove its entry from known-faults.ts.\n${story({ ...outcome!, trace: [] })}`,
      )
  }
})
