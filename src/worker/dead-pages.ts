/**
 * Finds pages that were killed: the storage says that they hold numbers, but they do not answer.
 * It searches when its page begins to use a collection, and looks once more at the pages that
 * answered then. Guarantees that nothing runs after that.
 */
import type { OwnerContext } from './context.js'
import { PAGE_ANSWER_MS } from './tabs.js'

/**
 * A page that is being closed may answer: while its thread is busy its worker goes on, and its
 * `pagehide` comes late or never. Chromium takes its tab away after half a second.
 */
const LOOK_AGAIN_MS = 8_000

/**
 * A page that comes back from the back/forward cache finds its timers due. With several in a row,
 * it hears first what others have answered meanwhile.
 */
// guard: H16 a page that was in the cache takes nobody for dead at once
const PARTS = 4

/**
 * @param writeOff one transaction, which also settles the notes that pages have left. It asks which
 * pages are dead when its turn has come, and returns those that hold something after it
 */
export function newDeadPages(
  { after, run, tabs }: Pick<OwnerContext, 'after' | 'run' | 'tabs'>,
  writeOff: (dead: () => ReadonlySet<string>) => Promise<Set<string>>,
) {
  let searched: Promise<void> | undefined

  /** @returns those that answered */
  async function look(pages: readonly string[]): Promise<string[]> {
    if (pages.length === 0) return []
    const lives = tabs!.askWhoLives()
    await pass(PAGE_ANSWER_MS)
    const dead = () => new Set(pages.filter((page) => !lives(page)))
    // guard: H16 a page that is heard while the storage is busy is not dead
    if (dead().size > 0) await writeOff(dead)
    return pages.filter(lives)
  }

  async function lookAgain(pages: readonly string[]): Promise<void> {
    if (pages.length === 0) return
    await pass(LOOK_AGAIN_MS)
    // Nobody is dead yet, but some may have left their notes since.
    const holders = await writeOff(() => new Set())
    await look(pages.filter((page) => holders.has(page)))
  }

  /** @throws when the page closes before */
  const pass = (ms: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const wait = (parts: number) =>
        after(ms / PARTS, () => (parts > 1 ? wait(parts - 1) : resolve()), reject)
      wait(PARTS)
    })

  return {
    /** @param pages that hold something, other than the one that asks */
    search(pages: ReadonlySet<string>): void {
      if (!tabs || searched) return
      const living = run(look([...pages]))
      searched = living.then(ignore, ignore)
      // guard: H3 a page that starts looks again at those that answered
      run(living.then(lookAgain))
    },

    /** Resolves when the first look is over. */
    async idle(): Promise<void> {
      await searched
    },
  }
}

const ignore = (): void => {}
