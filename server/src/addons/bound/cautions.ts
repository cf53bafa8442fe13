/** What an operator has to look at, although the server goes on: told once, to who listens. */

export type Tell = (caution: string) => void

interface Cautions {
  tell: Tell
  /** Also hears what was told before anybody listened. */
  listen(listener: Tell): void
}

export function createCautions(): Cautions {
  const listeners: Tell[] = []
  const early: string[] = []
  return {
    tell(caution) {
      if (listeners.length === 0) early.push(caution)
      for (const listener of listeners) listener(caution)
    },
    listen(listener) {
      listeners.push(listener)
      for (const caution of early.splice(0)) listener(caution)
    },
  }
}
