/**
 * An original that runs beside its copy, both online: how much both may make. Where nothing else is
 * broken, the server hears of use soon, and the one that comes second stops. So both make only what
 * one of them leased within two report intervals of the first use. Two that were closed and start
 * make none twice, because each asks first.
 */
import type { Series } from './checker.js'
import type { Device } from './device.js'
import { REPORTED_MS } from './set-back.js'

interface Span {
  series: Series
  from: number
  to: number
  at: number
}

interface Leased extends Span {
  device: string
}

interface Copied extends Span {
  devices: readonly Device[]
  /** Both were closed, and each asks the server before it goes on: one goes on. */
  bothAsk: boolean
  /** When each of the two first leased of what both held. The first one is the first of all. */
  usedAt: Map<string, number>
}

export class BesideCopy {
  /** Oldest first. */
  readonly #copied: Copied[] = []
  readonly #leased: Leased[] = []

  /** From now on two devices hold these. */
  copied(numbers: Omit<Copied, 'usedAt'>): void {
    this.#copied.push({ ...numbers, usedAt: new Map() })
  }

  leased(numbers: Leased): void {
    this.#leased.push(numbers)
    const { series, device, from, to, at } = numbers
    for (const { usedAt, ...each } of this.#copied)
      if (each.series === series && each.from <= to && from <= each.to && !usedAt.has(device))
        usedAt.set(device, at)
  }

  /** Two devices have issued this number. @returns the copies, if that was to be prevented */
  tooLate(series: Series, n: number): Copied | undefined {
    const isOf = (each: Span) => each.series === series && each.from <= n && n <= each.to
    const copied = this.#copied.findLast(isOf)
    if (!copied) return undefined
    const leases = this.#leased.filter((each) => isOf(each) && each.at >= copied.at)
    const usedAt = copied.usedAt.values().next().value
    if (usedAt === undefined || !leases[0]) return undefined
    if (copied.bothAsk || leases[0].at > usedAt + REPORTED_MS) return copied
    return copied.devices.some(({ name }) => isToldBefore(copied, name, leases))
      ? copied
      : undefined
  }
}

/**
 * The server had heard of the other one's use before this one began, and this one has told of its
 * own before it leased the number: so it has heard that it is a copy.
 */
function isToldBefore({ devices, usedAt }: Copied, device: string, leases: readonly Leased[]) {
  const begun = usedAt.get(device)
  const lease = leases.find((each) => each.device === device)
  if (begun === undefined || !lease || lease.at <= begun + REPORTED_MS) return false
  return devices.some(({ name }) => name !== device && usedAt.get(name)! + REPORTED_MS < begun)
}
