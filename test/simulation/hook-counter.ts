/**
 * The word `hook`: the numbers of each collection come from functions of the app. Its back end
 * takes blocks from the same counter, and makes rows inside of blocks that the ledger has; the app
 * may not answer for a while. The ledger's rules and its calls of the functions are the real ones.
 */
import {
  type Bindings,
  countersSetting,
} from '../../server/src/addons/bound/collections-setting.js'
import type { CounterHook } from '../../server/src/addons/bound/hook/hook-options.js'
import { withSources } from '../../server/src/addons/bound/sources.js'
import { EVERY_COLLECTION } from '../../server/src/ledger/collections.js'
import { createLedger } from '../../server/src/ledger/create-ledger.js'
import type { Ledger } from '../../server/src/ledger/ledger.js'
import { BackEndStorage, BLOCK, backEndWord, makesRow, takesBlocks } from './back-end.js'
import { LIMITS } from './ledger-storage.js'
import { OwnServer } from './own-servers.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

const LONGEST_MS = 60_000

/** For the ledger, which does not remember bindings in memory. */
const BOUND = new Map([
  [
    EVERY_COLLECTION,
    {
      database: '',
      collection: '',
      authority: 'hook',
      description: 'functions of an app',
    } as const,
  ],
])

/** Has the app a record with one of these ids, which a device has made? */
type IsStored = (collection: string, low: number, high: number) => boolean

export class HookStorage extends BackEndStorage {
  /** The functions fail. */
  isAway = false
  readonly #bindings: Bindings
  readonly #isStored: IsStored

  constructor(database: string, collections: readonly string[], isStored: IsStored) {
    super()
    this.#isStored = isStored
    const hooks = collections.map((collection) => [collection, this.#hook()])
    this.#bindings = countersSetting.parse({ [database]: Object.fromEntries(hooks) })
  }

  override async open(): Promise<Ledger> {
    const ledger = await createLedger(this.store, LIMITS, BOUND)
    return withSources(ledger, this.#bindings, () => {})
  }

  #hook(): CounterHook {
    return {
      blockSize: BLOCK,
      hiIs: 'first',
      nextHi: (key) => {
        // A block that was taken and not given is a gap.
        const [first] = this.take(key, 1)
        this.#mustAnswer()
        return first
      },
      isFree: ({ low, high, ...key }) => {
        this.#mustAnswer()
        const isInUse = this.#isStored(key.collection, low, high)
        return !isInUse && this.rowsIn(key, [[low, high]]).length === 0
      },
    }
  }

  #mustAnswer(): void {
    if (this.isAway) throw new Error('The app does not answer.')
  }
}

const takes = backEndWord('a function', 'takes blocks', takesBlocks)
const makes = backEndWord('a function', 'makes a row', makesRow)

export const hook: Word = {
  ...takes,
  happens(simulation, device, random) {
    const word = random.pick([takes, makes, makes, goesAway])
    word.happens(simulation, device, random)
  },
  heal: comesBack,
}

const goesAway: Pick<Word, 'happens'> = {
  happens(simulation, _, random) {
    const { scheduler, networkActor } = simulation
    const storage = hookOf(simulation)
    if (!storage || simulation.isClean) return
    simulation.hit('the app of a hook is away')
    storage.isAway = true
    const passed = random.between(1, LONGEST_MS)
    scheduler.post(networkActor, passed, 'the app answers', () => comesBack(simulation))
  },
}

function comesBack(simulation: Simulation): void {
  const storage = hookOf(simulation)
  if (storage) storage.isAway = false
}

function hookOf({ servers }: Simulation): HookStorage | undefined {
  const [server] = servers.values()
  return server instanceof OwnServer && server.storage instanceof HookStorage
    ? server.storage
    : undefined
}
