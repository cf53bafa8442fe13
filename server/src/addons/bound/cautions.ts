/** Warnings for an operator, while the server goes on. A listener gets each once. */

export type Tell = (caution: string) => void

interface Cautions {
  tell: Tell
  /** Also gets the warnings from before. */
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
