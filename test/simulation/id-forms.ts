/**
 * The word `id-forms`: the app has a form of its own for its ids, and its updates change that form.
 * A page keeps the form that it was opened with. One of the forms leaves the node out: no device
 * may make ids in it of the numbers of two nodes, which would be the same texts.
 */
import type { HiloError } from '../../src/core/errors.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import { nodeOf } from './bare-numbers.js'
import type { Page } from './device.js'
import { isOfTheApp } from './profile.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

type FormatId = NonNullable<HiloOptions['formatId']>

export class IdForms {
  /** Of pages that open from now on. Undefined: the default form. */
  current: FormatId | undefined
  /** Of which the form without a node has made a text. */
  readonly #asked = new Set<number>()
  /** The same, since the last refusal. */
  #askedSince: { series: string; number: number }[] = []
  /** By device and collection: the nodes whose numbers it has made ids of that do not name them. */
  readonly #unnamed = new Map<string, Set<string>>()
  readonly #simulation: Simulation

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  readonly withNode: FormatId = (number, { prefix, serverTag }) => `${prefix}${number}-${serverTag}`

  readonly withoutNode: FormatId = (number, { collection, prefix, serverTag }) => {
    this.#asked.add(number)
    this.#askedSince.push({ series: `${collection.toLowerCase()}-${serverTag}`, number })
    return `${prefix}${number}`
  }

  /**
   * Was an id of the form without a node refused? Its number is a gap, and so are those before it
   * in the same call.
   */
  isRefused({ code, message }: HiloError): boolean {
    const number = Number(
      /^No id was made: for number (\d+) .* for another node,/.exec(message)?.[1],
    )
    if (code !== 'invalid-argument' || !this.#asked.has(number)) return false
    this.#simulation.hit('an id without its node was refused')
    for (const { series, number } of this.#askedSince.splice(0))
      this.#simulation.checker.excuse(series, number, number, 'its id was refused')
    return true
  }

  /** Which node granted the number of this id, which does not say it? */
  nodeOf(page: Page, tag: string, number: number): string {
    const { checker, profile } = this.#simulation
    if (isOfTheApp(profile.authority)) return ''
    const { device, name } = page
    const node = nodeOf(this.#simulation, page, tag, number)
    const key = `${device.name} ${tag}`
    const nodes = (this.#unnamed.get(key) ?? new Set()).add(node)
    this.#unnamed.set(key, nodes)
    if (nodes.size > 1 && !device.isLossy)
      checker.complain(`${name} made ${tag}/${number}, and its device such ids of ${[...nodes]}`)
    return node
  }
}

export const idForms: Word = {
  fits: ({ authority, faults, hasClones, hasRestore }) =>
    !isOfTheApp(authority) && faults.has('nodes') && !hasClones && !hasRestore,
  happens(simulation, device, random) {
    const { withNode, withoutNode } = simulation.idForms
    simulation.hit('an app has another form for its ids')
    simulation.idForms.current = random.pick([undefined, withNode, withoutNode])
    if (device.pages.length < 3) simulation.openPage(device)
  },
  heal({ idForms }) {
    idForms.current = undefined
  },
}
