/**
 * Finds pages that were killed: the storage says that they hold numbers, but they do not answer.
 * It searches once, when its page begins to use a collection.
 */
import type { OwnerContext } from './context.js'
import { PAGE_ANSWER_MS } from './tabs.js'

export class DeadPages {
  readonly #context: OwnerContext
  readonly #writeOff: (dead: Set<string>) => Promise<void>
  #search: Promise<void> | undefined

  /** @param writeOff gets the pages whose numbers are lost */
  constructor(context: OwnerContext, writeOff: (dead: Set<string>) => Promise<void>) {
    this.#context = context
    this.#writeOff = writeOff
  }

  /** @param pages that hold something, other than the one that asks */
  search(pages: ReadonlySet<string>): void {
    const { tabs } = this.#context
    if (!tabs) return
    this.#search ??= this.#find(pages, tabs.isAlive).catch(() => {})
  }

  /** Resolves when no search is under way. */
  async idle(): Promise<void> {
    await this.#search
  }

  async #find(pages: ReadonlySet<string>, isAlive: (page: string) => boolean): Promise<void> {
    if (pages.size === 0) return
    await new Promise<void>((resolve) => this.#context.after(PAGE_ANSWER_MS, resolve))
    const dead = new Set([...pages].filter((page) => !isAlive(page)))
    if (dead.size > 0) await this.#writeOff(dead)
  }
}
