/**
 * The word `other-options`: a device starts again with other options than before: another database,
 * another separator, more or less to keep, other collections, or another form of its receipts. Its
 * other tabs go on with the old ones.
 */
import type { HiloOptions } from '../../src/device/hilo-options.js'
import { callApp } from './app.js'
import { killBrowser } from './faults.js'
import { isOneLedger } from './profile.js'
import type { Random } from './random.js'
import type { Word } from './words.js'

export const OTHER_OPTIONS = 'started with other options'

export const otherOptions: Word = {
  fits: isOneLedger,
  world: () => ({ tenants: ['', 'north'] }),
  happens(simulation, device, random) {
    simulation.hit(OTHER_OPTIONS)
    device.app = chosen(random)
    // Another separator has a state of its own.
    simulation.checker.holdsApart(device.name)
    if (!simulation.isClean && random.chance(0.2)) killBrowser(simulation, device)
    if (device.pages.length >= 3) return
    const page = simulation.openPage(device)
    simulation.receipts?.changeForm(page)
    callApp(simulation, page, 'nextIds')
  },
}

const chosen = (random: Random): Partial<HiloOptions> => ({
  identityPartsSeparator: random.pick(['/', '/', ':']),
  reserve: random.pick([0, 4, 32, 100]),
  collections: random.pick([{}, { orders: { reserve: 8 } }, { orders: {}, lines: {} }]),
})
