/**
 * The whole system as a model for the explorer. Every step that decides about numbers is the
 * production function; what stands here is who calls it when, and what can go wrong in between.
 */
import {
  copy,
  cutPower,
  hearAnswer,
  sendCheckIn,
  sendClaim,
  takeForDead,
  writeOff,
} from './device-events.js'
import type { Model, Step } from './explorer.js'
import { fingerprint, isSameMessage } from './fingerprint.js'
import {
  ask,
  askAgain,
  cut,
  exit,
  hear,
  issue,
  kill,
  NOTES,
  openPage,
  park,
  remove,
  thaw,
} from './page-events.js'
import { broken, lostBetween, places } from './properties.js'
import { serverPrunes } from './server.js'
import { forge, raiseFloors, reach, restore, setBack } from './server-events.js'
import {
  type Bounds,
  type Left,
  type Message,
  newSystem,
  type System,
  spend,
  without,
} from './state.js'

/** @param before what has happened before the first state, in the words of {@link Step.event} */
export function hiloModel(bounds: Bounds, before: readonly string[] = []): Model<System> {
  const { devices, pages, range, lease, authority, ...left } = bounds
  const hasTokens = authority === 'own'

  function next(system: System): Step<System>[] {
    const steps = new Steps(system)
    const { newId } = steps
    for (const [d, { name, pages: open, dead, local }] of system.devices.entries()) {
      if (open.length < pages)
        steps.add(`A page opens on device ${name}.`, openPage(system, d, newId))
      for (const p of open.keys()) addPageSteps(steps, d, p)
      if (dead.length > 0)
        steps.add(`Device ${name} writes its dead pages off.`, writeOff(system, d), 'crash')
      if (system.left.powerCuts > 0)
        for (const kept of local.length > 0 ? [[], local] : [local])
          steps.add(`Device ${name} loses its power.`, cutPower(system, d, kept))
      steps.add(`Device ${name} sends a claim.`, sendClaim(system, d, lease, newId))
      if (hasTokens) steps.add(`Device ${name} sends a check-in.`, sendCheckIn(system, d, newId))
      if (system.devices.length < devices + 1)
        steps.add(`The profile of device ${name} is copied.`, copy(system, d))
    }
    for (const m of system.messages.keys()) addMessageSteps(steps, m)
    addServerSteps(steps)
    return steps.all
  }

  function after(system: System, event: string): System {
    const steps = next(system)
    const step = steps.find((each) => each.event === event)
    if (step) return step.state
    const possible = steps.map((each) => each.event).join('\n')
    throw new Error(`This cannot happen: ${event}\nThis can:\n${possible}`)
  }

  function addPageSteps(steps: Steps, d: number, p: number): void {
    const { system, newId } = steps
    const { name, pages: open } = system.devices[d]!
    const page = open[p]!
    const who = `Page ${p + 1} of device ${name}`
    steps.add(`${who} does not answer: it counts as dead.`, takeForDead(system, d, p), 'crash')
    if (page.isFrozen) {
      steps.add(`${who} comes back from the cache.`, thaw(system, d, p))
      steps.add(`${who}, in the cache, is thrown away.`, remove(system, d, p))
      return
    }
    steps.add(`${who} issues a number.`, issue(system, d, p))
    const waits = page.holds.awaited.size > 0
    const { unconfirmed, offers } = page.holds
    if (!waits) steps.add(`${who} asks its device for numbers.`, ask(system, d, p, lease, newId))
    if (!waits && (unconfirmed.size > 0 || offers.length > 0))
      steps.add(
        `${who} tells its device what it gave up.`,
        ask(system, d, p, 0, newId),
        hasTokens ? undefined : 'offer',
      )
    for (const [a, { request }] of page.asked.entries()) {
      const late = page.holds.awaited.has(request.id) ? '' : ', too late'
      steps.add(`${who} hears its device's answer${late}.`, hear(system, d, p, a))
      steps.add(`${who} asks a new worker the same again${late}.`, askAgain(system, d, p, a))
    }
    steps.add(`${who} parks: it is hidden.`, park(system, d, p))
    steps.add(`${who} parks the last number that it holds.`, cut(system, d, p))
    for (const kept of NOTES)
      for (const isCached of [false, true])
        steps.add(
          `${who} is left${isCached ? ', into the cache' : ''}; its note is ${kept}.`,
          exit(system, d, p, kept, isCached),
        )
    steps.add(`${who} is killed.`, kill(system, d, p))
  }

  function addMessageSteps(steps: Steps, m: number): void {
    const { system, newId } = steps
    const message = system.messages[m]!
    if (system.messages.some((other, i) => i < m && isSameMessage(other, message))) return
    const what = describe(message, system)
    const reason = mayLose(system, message)
    steps.add(`${what} arrives.`, deliver(without(system, m), message, newId), reason)
    // A request that is no GET or POST is not sent again by a network.
    if (system.left.repeats > 0 && (message.kind !== 'give-back' || authority !== 'ravendb'))
      steps.add(
        `${what} arrives, and will once more.`,
        deliver(spend(system, 'repeats'), message, newId),
        reason,
      )
    if (system.left.losses > 0)
      steps.add(
        `${what} is lost.`,
        spend(without(system, m), 'losses'),
        hasTokens ? undefined : 'lost',
      )
    addRefusal(steps, m)
  }

  /** A proxy says no. The same claim may have reached the server before. */
  function addRefusal(steps: Steps, m: number): void {
    const { system } = steps
    const message = system.messages[m]!
    if (message.kind !== 'claim' || message.to !== 'server' || system.left.losses === 0) return
    const { device, request } = message
    const answer = { refused: 'by a proxy' }
    const no: Message = { to: 'device', kind: 'claim', device, id: request.id, answer }
    steps.add(
      `${describe(message, system)} is refused by a proxy.`,
      hearAnswer(spend(without(system, m), 'losses'), no),
      'refused',
    )
  }

  function addServerSteps(steps: Steps): void {
    const { system } = steps
    const { collection, grants } = system.server
    if (system.left.prunes > 0)
      for (const alsoUnheard of [false, true])
        steps.add(
          `The server forgets ${alsoUnheard ? 'what it heard nothing of' : 'what is settled'}.`,
          { ...spend(system, 'prunes'), server: serverPrunes(system.server, alsoUnheard) },
          'forgotten',
        )
    if (system.left.restores > 0 && !system.backup)
      steps.add('The server is backed up.', { ...system, backup: system.server })
    if (system.left.restores > 0 && system.backup)
      steps.add('The server is restored from its backup.', restore(system), 'restore')
    if (!system.truth.isRaised && system.excuses.unknownToServer.length > 0)
      steps.add('The operator raises the floors.', raiseFloors(system), 'restore')
    if (system.left.forgeries > 0)
      for (const { low, high } of grants)
        for (const last of new Set([low - 1, high - 1]))
          steps.add(
            `Somebody gives ${last + 1}–${high} back without a token.`,
            forge(system, high, last),
          )
    if (system.left.writes > 0 && collection.max > 0)
      for (const max of new Set([0, collection.max - 1]))
        steps.add(`Somebody sets the document to ${max}.`, setBack(system, max))
  }

  /** Why this message may lose numbers: a device was copied, or a grant has no token. */
  function mayLose(system: System, message: Message): string | undefined {
    const mayBeForked = system.left.copies < left.copies || system.left.restores < left.restores
    if (mayBeForked) return 'fork'
    if (message.kind === 'give-back') return hasTokens ? undefined : 'unknown fate'
    // A device counts an offer as held until it reads the note of the page that has sent it. Where
    // the give-back is faster than the claim, the server skips what came back.
    if (system.left.giveBacks < left.giveBacks) return 'overtaken'
    return hasTokens ? undefined : 'repeated answer'
  }

  function deliver(system: System, message: Message, newId: () => string): System {
    if (message.to === 'server') return reach(system, message, bounds, newId)
    const after = hearAnswer(system, message)
    const forks = ({ devices }: System) => devices[message.device]!.stored.gaps.fork
    const mayBeCopied = left.copies + left.restores > 0
    if (forks(after) === forks(system) || mayBeCopied) return after
    const { name } = after.devices[message.device]!
    return { ...after, problem: `Device ${name} is taken for a copy, and is none.` }
  }

  /** Everything that is under way arrives. */
  function arrived(system: System, newId: () => string): System {
    let now = system
    while (now.messages[0]) {
      now = deliver(without(now, 0), now.messages[0], newId)
      if (now.problem) return now
    }
    return now
  }

  /** Healed, and with as many events as it takes: does this device make an id again? */
  function recover(start: System, d: number): System | undefined {
    const plenty = Object.fromEntries(
      Object.keys(left).map((name) => [name, 50]),
    ) as unknown as Left
    let { names } = start
    const newId = () => `~${names++}`
    let now = writeOff(arrived({ ...start, left: plenty }, newId), d)
    if (now.devices[d]!.pages.every(({ isFrozen }) => isFrozen)) now = openPage(now, d, newId)
    const p = now.devices[d]!.pages.findIndex(({ isFrozen }) => !isFrozen)
    for (let round = 0; round < 12 && !now.problem; round++) {
      while (now.devices[d]!.pages[p]!.asked.length > 0) now = hear(now, d, p, 0)
      const issued = issue(now, d, p)
      if (issued) return issued
      const asked = ask(now, d, p, lease, newId)
      const leases = asked?.devices[d]?.pages[p]?.asked.at(-1)?.answer.leases ?? []
      if (asked && leases.length > 0) now = asked
      else {
        const sent = sendClaim(now, d, lease, newId) ?? sendCheckIn(now, d, newId) ?? asked
        if (!sent) return undefined
        now = arrived(sent, newId)
      }
      // A restored server may contradict what a device holds, until its floor is raised.
      if (round === 6) now = raiseFloors(now)
    }
    return now.problem ? now : undefined
  }

  function stuck(system: System): string | undefined {
    for (const [d, { name }] of system.devices.entries()) {
      const after = recover(system, d)
      if (!after) return `Device ${name} makes no id any more.`
      // Healing gives nothing back: what happened before it still excuses.
      const problem = broken({ ...after, left: system.left }, left.giveBacks)
      if (problem) return `When all is healed: ${problem}`
    }
    return undefined
  }

  return {
    before,
    initial: () => before.reduce(after, newSystem(devices, left)),
    next,
    fingerprint,
    broken: (system) => broken(system, left.giveBacks),
    stuck,
  }
}

/** The events that can happen in a state, with the states after them. */
class Steps {
  readonly system: System
  readonly all: Step<System>[] = []
  readonly #before: number
  #ids = 0

  constructor(system: System) {
    this.system = system
    this.#before = places(system)
  }

  readonly newId = (): string => `~${this.system.names + this.#ids++}`

  /**
   * @param after undefined: it cannot happen
   * @param reason why numbers may be lost by it
   */
  add(event: string, after: System | undefined, reason?: string): void {
    const names = this.system.names + this.#ids
    this.#ids = 0
    if (!after) return
    const lost = reason === undefined ? lostBetween(this.#before, after) : undefined
    const problem = lost ? `${lost} left no trace.` : after.problem
    this.all.push({ event, state: { ...after, names, problem } })
  }
}

function describe(message: Message, { devices }: System): string {
  if (message.kind === 'give-back') return `The give-back of ${message.last + 1}–${message.end}`
  const { name } = devices[message.device]!
  if (message.to === 'server') return `The ${message.kind} of device ${name}`
  const { answer } = message
  return 'low' in answer
    ? `The grant of ${answer.low}–${answer.high} to device ${name}`
    : `The answer to device ${name}'s ${message.kind}`
}
