/**
 * An original that runs beside its copy, both online: how much both may make. Where nothing else is
 * broken, the server hears of use soon, and the one that comes second stops. So both make only what
 * one of them leased within two report intervals of the first use. Two that were closed and start
 * make none twice, because each asks first.
 */
import type { Series } from './checker.js'
import type { Device } from './device.js'
import { REPORTED_MS } from './set-back.js'

interface Leased {
  series: Series
  from: number
  to: number
  at: number
}

interface Copied extends Leased {
  devices: readonly Device[]
  /** Both were closed, and each asks the server before it goes on: one goes on. */
  bothAsk: boolean
  /** When one of the two first leased of what both held. */
  usedAt?: number
}

export class BesideCopy {
  /** Oldest first. */
  readonly #copied: Copied[] = []
  readonly #leased: Leased[] = []

  /** From now on two devices hold these. */
  copied(numbers: Omit<Copied, 'usedAt'>): void {
    this.#copied.push({ ...numbers })
  }

  leased(numbers: Leased): void {
    this.#leased.push(numbers)
    const { series, from, to, at } = numbers
    for (const each of this.#copied)
      if (each.series === series && each.from <= to && from <= each.to) each.usedAt ??= at
  }

  /** Two devices have issued this number. @returns the copies, if that was to be prevented */
  tooLate(series: Series, n: number): Copied | undefined {
    const isOf = (each: Leased) => each.series === series && each.from <= n && n <= each.to
    const copied = this.#copied.findLast(isOf)
    const first = this.#leased.find((each) => isOf(each) && each.at >= (copied?.at ?? 0))
    if (copied?.usedAt === undefined || !first) return undefined
    return copied.bothAsk || first.at > copied.usedAt + REPORTED_MS ? copied : undefined
  }
}
